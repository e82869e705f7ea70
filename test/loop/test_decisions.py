"""When a chunk is due. Field reports A07, B02."""

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from loop_parts import chunk

from rlt_ros.loop.chunks import ChunkQueue, StaleChunk
from rlt_ros.loop.decisions import Decisions, DecisionsAhead
from rlt_ros.loop.passes import PassQueue
from rlt_ros.types import Driver, ExecutedStep, Features, Mode, Observation, Phase, PolicyMode


def features(number: int) -> Features:
    return Features(number, 0, 1, 0, np.zeros(4), np.zeros(19), np.zeros((10, 7)))


def mode(number: int, mode: Mode = Mode.VLA) -> PolicyMode:
    return PolicyMode(number, 0, mode, Phase.APPROACH, 0, 1, False, False, False)


def executed(
    number: int,
    remaining: int = 0,
    step: int = 9,
    reset_done: bool = False,
    driver: Driver = Driver.VLA,
    **rest: object,
) -> ExecutedStep:
    zeros = np.zeros(7)
    return ExecutedStep(number, 0, 1, step, driver, zeros, zeros, 0, remaining=remaining, reset_done=reset_done, **rest)


def lockstep() -> Decisions:
    decisions = Decisions(stride=2)
    decisions.add_executed(executed(10))
    decisions.add_mode(mode(11))
    decisions.add_features(features(11))
    return decisions


def test_due_when_the_queue_is_empty_and_everything_holds_the_same_observation() -> None:
    decision = lockstep().due()
    assert decision is not None and decision.features.id == 11 and not decision.starts_episode


def test_order_of_arrival_does_not_matter() -> None:
    decisions = Decisions(stride=2)
    decisions.add_features(features(11))
    assert decisions.due() is None
    decisions.add_mode(mode(11))
    decisions.add_executed(executed(10))
    assert decisions.due() is not None


def test_not_due_twice_nor_in_mid_chunk_nor_when_nobody_asks_the_policy() -> None:
    decisions = lockstep()
    decisions.made(decisions.due())
    assert decisions.due() is None
    decisions = lockstep()
    decisions.add_executed(executed(10, remaining=3))
    assert decisions.due() is None
    for other in (Mode.HOLD, Mode.HUMAN, Mode.RESET):
        decisions = lockstep()
        decisions.add_mode(replace(mode(11), mode=other))
        assert decisions.due() is None


def test_lockstep_never_decides_on_features_of_another_observation() -> None:
    decisions = lockstep()
    decisions.add_mode(mode(12))
    decisions.add_features(features(12))
    assert decisions.due() is None


def test_the_first_decision_and_one_after_a_reset_start_an_episode() -> None:
    decisions = Decisions(stride=2)
    decisions.add_mode(mode(1))
    decisions.add_features(features(1))
    assert decisions.due().starts_episode
    decisions.add_executed(executed(1, reset_done=True))
    decisions.add_mode(mode(2))
    decisions.add_features(features(2))
    assert decisions.due().starts_episode


def test_an_odd_boundary_asks_for_its_pass_once() -> None:
    decisions = Decisions(stride=2)
    decisions.add_executed(executed(10, step=4))
    decisions.add_mode(mode(11))
    assert decisions.wanted() == 11
    assert decisions.wanted() == 0
    decisions.ask_again()
    assert decisions.wanted() == 11
    decisions.add_executed(executed(11, step=5))
    decisions.add_mode(mode(12))
    assert decisions.wanted() == 0


# real time


class Arm:
    """Executor, observations and a VLA that takes so many observations for a pass and makes one at a time."""

    def __init__(self, decisions: DecisionsAhead, takes: int, rows: int = 10) -> None:
        self.decisions, self.takes, self.rows = decisions, takes, rows
        self.number = self.ends = 0
        self.passes = PassQueue(stride=2, batch=1)
        self.passing: list[Observation] = []
        self.queue = ChunkQueue()
        self.log: list[tuple[int, int]] = []
        """(chunk, row) of each step; (0, 0) where it starved."""

    def step(self) -> None:
        self.number += 1
        self.end_a_pass()
        self.passes.add(Observation(self.number, self.number, 1, self.number, {}, np.zeros(19)))
        self.decisions.add_mode(mode(self.number))
        self.ask()
        self.decide()
        if not self.passing:
            self.passing, self.ends = self.passes.take(), self.number + self.takes
            self.end_a_pass()
        self.decide()
        self.execute()
        self.decide()

    def end_a_pass(self) -> None:
        if self.passing and self.number >= self.ends:
            self.decisions.add_features(features(self.passing.pop().id))

    def ask(self) -> None:
        wanted = self.decisions.wanted()
        if wanted:
            self.passes.request([wanted], urgent=True)

    def decide(self) -> None:
        decision = self.decisions.due()
        if decision is not None:
            self.decisions.made(decision, self.rows)
            self.ask()
            with suppress(StaleChunk):
                self.queue.offer(chunk(decision.features.id, length=self.rows))

    def execute(self) -> None:
        self.queue.arrive(self.number)
        row = self.queue.peek(Mode.VLA)
        if row is None:
            self.log.append((0, 0))
            self.decisions.add_executed(executed(self.number, driver=Driver.HOLD, reason="starved: "))
            return
        self.queue.drove()
        self.log.append((row.chunk.features_id, row.index))
        left = row.remaining
        self.decisions.add_executed(executed(self.number, left, chunk_id=row.chunk.features_id, chunk_index=row.index))


def run(takes: int, rows: int = 10, steps: int = 200, chunk_length: int = 10, lead: int = 0) -> Arm:
    arm = Arm(DecisionsAhead(chunk_length, lead), takes, rows)
    for _ in range(steps):
        arm.step()
    return arm


@pytest.mark.parametrize("takes", [0, 1, 2, 3, 4])
def test_the_next_chunk_is_there_when_the_running_one_ends(takes: int) -> None:
    arm = run(takes)
    assert (0, 0) not in arm.log[40:], arm.log
    assert arm.decisions.lead == max(takes, 1), "just in time"
    begun = [row for (before, _), (number, row) in pairwise(arm.log[40:]) if number != before]
    assert max(begun) <= takes + 2, "no later than the pass made it"


def test_rows_are_those_of_their_time() -> None:
    arm = run(3)
    for number, (answers, row) in enumerate(arm.log[40:], start=41):
        assert answers + row == number, "row k of a chunk belongs k steps after its observation"


def test_a_slow_vla_runs_smoothly_with_a_longer_chunk_and_starves_now_and_then_with_a_short_one() -> None:
    """300 ms at 20 Hz are six steps: of ten rows four are left, and the next pass takes six."""
    smooth = run(6, rows=17)
    assert (0, 0) not in smooth.log[60:]
    short = run(6, rows=10)
    starved = short.log[60:].count((0, 0))
    assert 0 < starved < 70, "it holds, and goes on"


def test_one_slow_pass_is_forgotten_and_the_first_one_never_counts() -> None:
    """A07."""
    arm = Arm(DecisionsAhead(10), takes=7)
    while arm.decisions.decided == 0:
        arm.step()
    arm.takes = 1
    for _ in range(60):
        arm.step()
    assert arm.decisions.lead == 1
    arm.takes = 6
    for _ in range(20):
        arm.step()
    assert arm.decisions.lead > 2
    arm.takes = 1
    for _ in range(150):
        arm.step()
    assert arm.decisions.lead == 1


def test_a_fixed_lead_stays_and_a_measured_one_is_bounded() -> None:
    assert run(1, lead=5).decisions.lead == 5
    assert run(20, rows=40, steps=600).decisions.lead == 9
    for lead in (-1, 10):
        with pytest.raises(ValueError, match="lead"):
            DecisionsAhead(10, lead)


def ahead(remaining: int = 2) -> DecisionsAhead:
    decisions = DecisionsAhead(10, lead=2)
    decisions.add_executed(executed(13, remaining, chunk_id=5))
    decisions.add_mode(mode(14))
    decisions.add_features(features(12))
    return decisions


def test_not_due_before_the_lead_nor_twice_and_again_when_something_newer_is_seen() -> None:
    assert ahead(remaining=3).due() is None
    decisions = ahead()
    assert decisions.due().features.id == 12
    decisions.made(decisions.due())
    assert decisions.due() is None
    decisions.add_features(features(14))
    assert decisions.due().features.id == 14


def test_a_decision_that_the_operators_word_has_overtaken_is_made_again_unless_it_runs() -> None:
    decisions = ahead()
    decisions.made(decisions.due())
    decisions.add_mode(mode(15, Mode.RL))
    again = decisions.due()
    assert again.features.id == 12 and again.mode.mode is Mode.RL
    decisions.made(again)
    assert decisions.due() is None
    decisions.add_mode(mode(16, Mode.VLA))
    decisions.add_executed(executed(15, remaining=1, chunk_id=12))
    assert decisions.due() is None


@pytest.mark.parametrize("driver, reason", [(Driver.HUMAN, ""), (Driver.RESET, ""), (Driver.HOLD, "force: 50 N")])
def test_what_was_seen_before_the_queue_was_dropped_is_not_decided_on(driver: Driver, reason: str) -> None:
    decisions = ahead()
    decisions.add_executed(executed(14, driver=driver, reason=reason))
    decisions.add_mode(mode(15))
    assert decisions.due() is None and decisions.wanted() == 15
    decisions.add_features(features(14))
    assert decisions.due() is None
    decisions.add_features(features(15))
    assert decisions.due().features.id == 15


def test_after_starvation_whatever_is_newer_is_decided_on() -> None:
    decisions = ahead()
    decisions.made(decisions.due())
    decisions.add_executed(executed(16, driver=Driver.HOLD, reason="starved: no action chunk has come"))
    decisions.add_mode(mode(17))
    decisions.add_features(features(15))
    assert decisions.due().features.id == 15


def test_nobody_decides_while_a_person_drives_or_holds() -> None:
    for what in (Mode.HOLD, Mode.HUMAN, Mode.RESET):
        decisions = ahead()
        decisions.add_mode(mode(15, what))
        assert decisions.due() is None and decisions.wanted() == 0


def test_the_observation_of_the_next_decision_is_announced_once_per_chunk() -> None:
    decisions = ahead(remaining=9)
    assert decisions.wanted() == 13 + 1 + 9 - 2
    assert decisions.wanted() == 0
    decisions.add_executed(executed(14, 8, chunk_id=5))
    assert decisions.wanted() == 0, "the boundary is the same"


def test_a_pass_that_was_asked_for_and_never_came_is_asked_for_again() -> None:
    decisions = DecisionsAhead(10)
    decisions.add_mode(mode(1))
    assert decisions.wanted() == 1
    asked = []
    for number in range(2, 60):
        decisions.add_mode(mode(number))
        decisions.add_executed(executed(number - 1, driver=Driver.HOLD, reason="starved: "))
        asked.append(decisions.wanted())
    assert sorted(set(asked)) == [0, 22, 43]


def test_features_of_a_recording_are_not_decided_on_for_ever() -> None:
    """B36: their ids may lie anywhere."""
    decisions = ahead()
    decisions.add_features(features(5000))
    assert decisions.due().features.id == 12
