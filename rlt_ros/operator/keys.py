"""Which key asks for what: a YAML file of actions, each with its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros.loop.requests import Request
from rlt_ros.operator.said_once import TextLoader, read_once
from rlt_ros.strict import ConfigError

STOP, HELP, QUIT = "stop", "help", "quit"
REQUESTS: Mapping[str, Request] = {
    STOP: Request.MODE_HOLD,
    "begin": Request.BEGIN,
    "success": Request.SUCCESS,
    "failure": Request.FAILURE,
    "discard": Request.DISCARD,
    "abort": Request.ABORT,
    "vla": Request.MODE_VLA,
    "rl": Request.MODE_RL,
    "human": Request.MODE_HUMAN,
    "hand_back": Request.HAND_BACK,
    "reset": Request.RESET,
    "pause": Request.PAUSE,
    "next": Request.NEXT,
    "start_here": Request.START_HERE,
    "start_anywhere": Request.START_ANYWHERE,
}
"""Name of an action in the file -> what it asks for."""

MEANINGS: Mapping[str, str] = {
    STOP: "the arm holds, now",
    "begin": "the critical phase begins",
    "success": "it ended well",
    "failure": "it ended badly",
    "discard": "it leaves nothing behind",
    "abort": "cut short, says nothing of the outcome",
    "vla": "the VLA drives",
    "rl": "the learned actor drives",
    "human": "the person drives",
    "hand_back": "hand back: the policy drives again",
    "reset": "back to a start state",
    "pause": "hold after this episode",
    "next": "go on with the next episode",
    "start_here": "practise from here: a start pose",
    "start_anywhere": "forget such start poses",
    HELP: "this card",
    QUIT: "leave the view; the arm goes on",
}
"""Every action, in the order of the card."""

NAMED = frozenset(
    "space tab backspace delete insert home end pageup pagedown up down left right escape".split()
    + [f"f{number}" for number in range(1, 13)]
)
"""Keys that have a name in place of a character."""
GO_ON = "enter"
"""Ends the key test, so nothing else can lie on it."""


@dataclass(frozen=True)
class Keys:
    """keys: action -> its keys, as `key_name` gives them."""

    keys: Mapping[str, tuple[str, ...]]

    def action(self, key: str) -> str | None:
        """What a key asks for, None if nothing."""
        return next((action for action, keys in self.keys.items() if key in keys), None)

    def of(self, action: str) -> str:
        """The keys of an action, for people."""
        return " ".join(self.keys.get(action, ()))

    @property
    def card(self) -> list[tuple[str, str, str]]:
        """(keys, action, meaning) of every action that has a key."""
        return [(self.of(action), action, meaning) for action, meaning in MEANINGS.items() if action in self.keys]


def key_name(key: str, character: str | None) -> str:
    """Name of a pressed key. key: Textual's name; character: what it types, if anything."""
    printable = character is not None and len(character) == 1 and character.isprintable() and character != " "
    return character if printable and character else key


def load_keys(path: Path) -> Keys:
    """Keys from a file. Raises ConfigError naming the file, the action and the key."""
    return _checked(read_once(path, TextLoader, "actions to keys"), str(path))


def _checked(values: Mapping[str, Any], where: str) -> Keys:
    owners: dict[str, str] = {}
    found: dict[str, tuple[str, ...]] = {}
    for action, given in values.items():
        if action not in MEANINGS:
            raise ConfigError(f"{where}: unknown action {action!r}; known are {', '.join(MEANINGS)}")
        keys = [given] if isinstance(given, str) else given
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
            raise ConfigError(f"{where}: {action}: expected a key or a list of keys, found {given!r}")
        for key in keys:
            _check_key(key, action, owners, where)
        found[action] = tuple(keys)
    if STOP not in found:
        raise ConfigError(f"{where}: there is no key for {STOP!r}")
    return Keys(found)


def _check_key(key: str, action: str, owners: dict[str, str], where: str) -> None:
    if key == GO_ON:
        raise ConfigError(f"{where}: {action}: {key!r} ends the key test; take another key")
    if key not in NAMED and not (len(key) == 1 and key.isprintable() and key != " "):
        known = ", ".join(sorted(NAMED))
        raise ConfigError(f"{where}: {action}: no key {key!r}; expected one character or one of {known}")
    if key in owners:
        raise ConfigError(f"{where}: key {key!r} is that of {owners[key]!r} and of {action!r}")
    owners[key] = action
