"""What a chunk may answer in real time. Field reports A34, B36."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loop_parts import chunk, stamp

from rlt_ros.loop.chunks import ChunkRefused, StaleChunk
from rlt_ros.loop.sightings import Sightings


@pytest.fixture()
def sightings() -> Sightings:
    made = Sightings(max_age=0.2)
    for i in (1, 2, 3):
        made.add(i, stamp(i))
    return made


def test_a_chunk_of_an_observation_that_was_seen_answers_it(sightings: Sightings) -> None:
    assert sightings.newest == 3
    assert not sightings.is_early(chunk(2))


@pytest.mark.parametrize("ahead", [1, 2])
def test_a_chunk_may_overtake_its_observation(sightings: Sightings, ahead: int) -> None:
    assert sightings.is_early(chunk(3 + ahead))


def test_a_chunk_of_an_observation_far_ahead_is_of_another_run(sightings: Sightings) -> None:
    with pytest.raises(ChunkRefused, match=r"observation 6: this executor has seen no such observation"):
        sightings.is_early(chunk(6))


def test_a_chunk_with_the_id_of_one_and_the_stamp_of_another_run_is_refused_with_both(sightings: Sightings) -> None:
    with pytest.raises(ChunkRefused, match=rf"stamp 17 ns, the observation's {stamp(2)} ns"):
        sightings.is_early(replace(chunk(2), stamp=17))


def test_a_chunk_that_is_too_old_is_late_not_wrong(sightings: Sightings) -> None:
    sightings.add(40, stamp(40))
    with pytest.raises(StaleChunk, match=r"it is 1\.900 s old, limit 0\.200 s"):
        sightings.is_early(chunk(2))


@pytest.mark.parametrize(("number", "at"), [(3, 4), (2, 4), (4, 2)])
def test_an_observation_that_comes_again_or_from_the_past_is_refused(
    sightings: Sightings, number: int, at: int
) -> None:
    with pytest.raises(ValueError, match=f"observation {number} of {stamp(at)} ns came after observation 3"):
        sightings.add(number, stamp(at))


def test_two_observations_may_have_seen_the_same_messages(sightings: Sightings) -> None:
    sightings.add(4, stamp(3))
    assert sightings.saw(4, stamp(3))


def test_when_the_clock_begins_anew_nothing_seen_before_counts(sightings: Sightings) -> None:
    sightings.forget()
    assert sightings.newest == 0 and not sightings.saw(3, stamp(3))
    sightings.add(1, stamp(0))


def test_memory_is_bounded(sightings: Sightings) -> None:
    for i in range(4, 2000):
        sightings.add(i, stamp(i))
    assert not sightings.saw(100, stamp(100)) and sightings.saw(1999, stamp(1999))
