"""What people have said to the executor: the operator's words and the commands of a person who drives."""

from __future__ import annotations

from typing import Any

from rlt_ros.loop.human import HumanCommand
from rlt_ros.loop.sightings import Sightings
from rlt_ros.types import Mode, Phase, PolicyMode

_KEPT = 16


class Heard:
    """The newest words and commands by the observation that they answer; a later one for the same takes its place."""

    def __init__(self) -> None:
        self._words: dict[int, PolicyMode] = {}
        self._commands: dict[int, HumanCommand] = {}

    def word(self, word: PolicyMode) -> None:
        """The operator has spoken."""
        keep_newest(self._words, word.observation_id, word)

    def command(self, command: HumanCommand) -> None:
        """A person has commanded a control step."""
        keep_newest(self._commands, command.observation_id, command)

    def word_for(self, observation_id: int) -> PolicyMode | None:
        """The word about this very observation."""
        return self._words.get(observation_id)

    def newest_word(self, seen: Sightings) -> PolicyMode | None:
        """The word about the newest observation that was seen: one about any other is a replayed one."""
        known = [word for word in self._words.values() if seen.saw(word.observation_id, word.stamp)]
        return max(known, key=lambda word: word.observation_id, default=None)

    def command_for(self, observation_id: int) -> HumanCommand | None:
        """The command for this very observation, else the one that is for whichever comes."""
        return self._commands.get(observation_id) or self._commands.get(0)

    def newest_command(self, observation_id: int) -> HumanCommand | None:
        """The command for this very observation, else the newest."""
        newest = max(self._commands.values(), key=lambda command: command.stamp, default=None)
        return self._commands.get(observation_id) or newest


def no_word(stamp: int) -> PolicyMode:
    """In place of the operator's word where none has come: observation 0, nothing granted. stamp: ns."""
    return PolicyMode(0, stamp, Mode.VLA, Phase.IDLE, 0, 0, explore=False, record=False, evaluation=False)


def keep_newest(table: dict[int, Any], key: int, value: Any) -> None:
    """Put a value under its number (an id or a stamp); those with the lowest numbers are forgotten beyond 16."""
    table[key] = value
    while len(table) > _KEPT:
        del table[min(table)]
