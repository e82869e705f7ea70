"""Which word and which command count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from loop_parts import mode, stamp

from rlt_ros.loop.heard import Heard, no_word
from rlt_ros.loop.human import HumanCommand
from rlt_ros.loop.sightings import Sightings
from rlt_ros.types import Mode


def seen(*ids: int) -> Sightings:
    sightings = Sightings(max_age=1.0)
    for i in ids:
        sightings.add(i, stamp(i))
    return sightings


def command(observation_id: int, at: int) -> HumanCommand:
    return HumanCommand(observation_id, stamp(at), np.zeros(7))


def test_the_newest_word_is_the_one_about_the_newest_observation_that_was_seen() -> None:
    heard = Heard()
    for i in (2, 1):
        heard.word(mode(i))
    assert heard.newest_word(seen(1, 2)).observation_id == 2


def test_a_replayed_word_does_not_count_whether_its_id_or_its_stamp_is_of_another_run() -> None:
    heard = Heard()
    heard.word(mode(1))
    heard.word(mode(900))
    heard.word(replace(mode(2), stamp=stamp(2) - 10**12))
    assert heard.newest_word(seen(1, 2)).observation_id == 1
    assert heard.newest_word(seen(5)) is None


def test_a_later_word_about_the_same_observation_takes_the_place_of_the_first() -> None:
    heard = Heard()
    heard.word(mode(3))
    heard.word(replace(mode(3), mode=Mode.HOLD))
    assert heard.word_for(3).mode is Mode.HOLD


def test_old_words_and_commands_are_forgotten() -> None:
    heard = Heard()
    for i in range(1, 100):
        heard.word(mode(i))
        heard.command(command(i, i))
    assert heard.word_for(1) is None and heard.command_for(1) is None
    assert heard.word_for(99) is not None and heard.command_for(99) is not None


def test_a_command_for_no_observation_in_particular_serves_any() -> None:
    heard = Heard()
    heard.command(command(0, at=4))
    assert heard.command_for(7) is heard.command_for(0)
    heard.command(command(7, at=5))
    assert heard.command_for(7).observation_id == 7


def test_in_real_time_the_newest_command_stands_in_for_one_that_is_late() -> None:
    heard = Heard()
    assert heard.newest_command(3) is None
    heard.command(command(2, at=2))
    heard.command(command(1, at=1))
    assert heard.newest_command(3).observation_id == 2
    assert heard.newest_command(1).observation_id == 1


def test_without_a_word_nothing_is_granted() -> None:
    word = no_word(stamp(4))
    assert (word.observation_id, word.explore, word.record, word.evaluation) == (0, False, False, False)
