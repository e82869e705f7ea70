"""Joining the streams of a graph to demonstrations: nothing is guessed, nothing mended. Field reports A30, B33."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from demonstrations import Shelf, give, label, number_of, observation, step, stream, word

from rlt_ros.loop.collecting import PATIENCE, EpisodeJoiner
from rlt_ros.types import Driver, EpisodeEvent, ExecutedStep, Label, Observation, PolicyMode

PHASES = [(5, Label.SUCCESS), (4, Label.DISCARD), (6, Label.SUCCESS)]
FIRST, THIRD = [3, 4, 5, 6, 7], [16, 17, 18, 19, 20, 21]


def joined(keep_failures: bool = False) -> tuple[EpisodeJoiner, Shelf]:
    shelf = Shelf()
    return EpisodeJoiner(shelf, keep_failures), shelf


def test_successes_are_saved_and_discards_leave_nothing() -> None:
    joiner, shelf = joined()
    give(joiner, stream(PHASES))
    assert shelf.saved == {1: FIRST, 3: THIRD}
    assert shelf.dropped == {2: "DISCARD"} and shelf.open == [] and joiner.notices() == []


@pytest.mark.parametrize("seed", range(20))
def test_the_order_in_which_streams_arrive_does_not_matter(seed: int) -> None:
    joiner, shelf = joined()
    streams = [
        [m for m in stream(PHASES) if isinstance(m, kind)]
        for kind in (Observation, ExecutedStep, PolicyMode, EpisodeEvent)
    ]
    rng = random.Random(seed)
    while any(streams):
        # One publisher keeps its order; against each other they may be late by a good second.
        chosen = rng.choice([s for s in streams if s])
        if number_of(chosen[0]) - min(number_of(s[0]) for s in streams if s) < 20:
            give(joiner, [chosen.pop(0)])
    assert shelf.saved == {1: FIRST, 3: THIRD}


def test_what_the_simulator_sends_again_is_counted_once() -> None:
    joiner, shelf = joined()
    for message in stream(PHASES):
        give(joiner, [message, message])
    assert shelf.saved == {1: FIRST, 3: THIRD}


def test_failures_are_kept_if_wanted() -> None:
    for keep in (False, True):
        joiner, shelf = joined(keep)
        give(joiner, stream([(3, Label.FAILURE), (3, Label.ABORT)]))
        assert list(shelf.saved) == [1] * keep
        assert shelf.dropped == ({} if keep else {1: "FAILURE"}) | {2: "ABORT"}


@pytest.mark.parametrize(
    ("kind", "name"), [(Observation, "observation"), (ExecutedStep, "executed_step"), (PolicyMode, "policy_mode")]
)
@pytest.mark.parametrize("lost", [3, 5, 7])
def test_a_hole_costs_its_demonstration_and_is_named(kind: type, name: str, lost: int) -> None:
    joiner, shelf = joined()
    give(joiner, (m for m in stream(PHASES) if not (isinstance(m, kind) and number_of(m) == lost)))
    assert list(shelf.saved) == [3], "the other one is whole"
    expected = "may have begun earlier" if (kind, lost) == (PolicyMode, 3) else f"{name} of observation {lost} is miss"
    assert expected in shelf.dropped[1]
    [notice] = joiner.notices()
    assert "demonstration 1 will not be kept" in notice and expected in notice


def test_a_hole_between_demonstrations_costs_nothing() -> None:
    joiner, shelf = joined()
    lost = {(ExecutedStep, 1), (Observation, 8), (ExecutedStep, 9)}
    give(joiner, (m for m in stream(PHASES) if (type(m), number_of(m)) not in lost))
    assert shelf.saved == {1: FIRST, 3: THIRD}


def test_words_decide_what_belongs_to_it_and_not_the_steps() -> None:
    """In real time a step may be executed under the word before: the first one outside, one more at the end."""
    joiner, shelf = joined()
    for message in stream([(5, Label.SUCCESS)]):
        if isinstance(message, ExecutedStep):
            number = message.observation_id
            message = step(number, 1 if 4 <= number <= 8 else 0)
        give(joiner, [message])
    assert shelf.saved == {1: FIRST}


def test_holds_are_frames_and_are_counted_by_reason() -> None:
    joiner, shelf = joined()
    takes = []
    shelf.save = takes.append
    for message in stream([(5, Label.SUCCESS)]):
        if isinstance(message, ExecutedStep) and message.observation_id in (4, 5):
            message = step(message.observation_id, 1, Driver.HOLD, reason="force: 45 N")
        give(joiner, [message])
    [take] = takes
    assert take.frames == 5 and take.holds == {"force: 45 N": 2}


def test_an_operator_who_dies_leaves_nothing_behind() -> None:
    joiner, shelf = joined()
    give(joiner, (m for m in stream([(200, Label.SUCCESS)]) if not (isinstance(m, PolicyMode) and number_of(m) > 20)))
    assert shelf.saved == {} and shelf.open == []
    assert "policy_mode: nothing for" in shelf.dropped[1]


def test_after_a_silence_the_next_demonstration_is_recorded() -> None:
    joiner, shelf = joined()
    give(joiner, (observation(number) for number in range(1, 3 * PATIENCE)))
    for number in range(3 * PATIENCE, 3 * PATIENCE + 10):
        give(joiner, [observation(number), word(number, 4 * (number > 195)), step(number, 4 * (number > 195))])
    end = 3 * PATIENCE + 10
    give(joiner, [label(end, 4), observation(end), word(end, 0), step(end, 0)])
    assert shelf.saved == {4: list(range(196, end))}


def test_a_phase_that_ends_without_a_label_is_dropped() -> None:
    joiner, shelf = joined()
    messages = (m for m in stream([(5, Label.SUCCESS), (5, Label.SUCCESS)], pause=60))
    give(joiner, (m for m in messages if not (isinstance(m, EpisodeEvent) and m.phase_id == 1)))
    assert "ended without a label" in shelf.dropped[1] and list(shelf.saved) == [2]


def test_a_label_that_names_another_end_is_not_believed() -> None:
    joiner, shelf = joined()
    messages = list(stream([(5, Label.SUCCESS)]))
    give(joiner, (label(6, 1) if isinstance(m, EpisodeEvent) else m for m in messages))
    assert shelf.saved == {} and "its label names observation 6, its words end at 8" in shelf.dropped[1]


def test_a_demonstration_under_way_when_recording_ends_is_dropped() -> None:
    joiner, shelf = joined()
    give(joiner, (m for m in stream(PHASES) if number_of(m) <= 5 and not isinstance(m, EpisodeEvent)))
    assert joiner.take is not None
    joiner.interrupt("Ctrl-C")
    assert joiner.take is None and shelf.dropped == {1: "Ctrl-C"} and shelf.open == []


def test_a_sink_that_takes_no_more_says_why_and_the_rest_is_spared() -> None:
    joiner, shelf = joined()
    for message in stream(PHASES):
        shelf.full = "the disk is full" if number_of(message) in (5, 6) else ""
        give(joiner, [message])
    assert shelf.dropped[1] == "the disk is full" and list(shelf.saved) == [3]


@pytest.mark.parametrize("first_step", [0, 1])
def test_a_collector_that_came_late_keeps_what_began_at_a_reset(first_step: int) -> None:
    """While a graph starts up, the first observations may be gone before their publisher knows the collector."""
    joiner, shelf = joined()
    late = [m for m in stream([(5, Label.SUCCESS)]) if number_of(m) >= 3]
    give(joiner, (replace(m, step=m.id - 3 + first_step) if isinstance(m, Observation) else m for m in late))
    if first_step == 0:
        assert shelf.saved == {1: FIRST}
    else:
        assert "may have begun earlier" in shelf.dropped[1]
