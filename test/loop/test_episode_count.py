"""Numbers of observations: what the executor reports decides, in whatever order it comes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlt_ros.loop.episode_count import EpisodeCount
from rlt_ros.types import Driver, ExecutedStep

STILL = np.zeros(7, np.float32)


def report(number: int, episode: int, step: int, reset_done: bool = False) -> ExecutedStep:
    return ExecutedStep(number, number, episode, step, Driver.HOLD, STILL, STILL, 0, reset_done=reset_done)


def test_the_first_observation() -> None:
    assert EpisodeCount().following(0) == (1, 0, 0)


def test_steps_and_episodes_follow_the_reports() -> None:
    count = EpisodeCount()
    count.add(report(7, 2, 30))
    assert count.following(7) == (8, 2, 31)
    assert count.following(9) == (10, 2, 31), "observations that nobody answered have numbers too"
    count.add(report(8, 2, 31, reset_done=True))
    assert count.following(8) == (9, 3, 0)
    count.add(report(9, 3, 0))
    assert count.following(9) == (10, 3, 1)


def test_a_reset_that_an_observation_has_overtaken_is_not_forgotten() -> None:
    for order in permutations([report(8, 2, 31, reset_done=True), report(9, 2, 32)]):
        count = EpisodeCount()
        for step in order:
            count.add(step)
        assert count.following(9) == (10, 3, 0), order


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 3))
def test_an_executor_that_lags_behind_loses_no_reset(resets: list[bool], lag: int) -> None:
    """Observations are made while the reports of up to `lag` earlier ones are still to come."""
    count, waiting, last, done = EpisodeCount(), [], 0, -1
    for reset in resets:
        number, episode, step = count.following(last)
        assert number == last + 1
        # The executor resets once per episode, as its operator asks.
        reset = reset and episode > done
        done = episode if reset else done
        waiting.append(report(number, episode, step, reset))
        last = number
        while len(waiting) > lag:
            count.add(waiting.pop(0))
    for step in waiting:
        count.add(step)
    assert count.following(last)[1] == done + 1
