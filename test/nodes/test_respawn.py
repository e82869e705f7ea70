"""Who is started again by launch, and what ends the run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("launch")
from launch.actions import LogInfo, Shutdown

from rlt_ros.nodes.respawn import DEATHS, RETURNING, end_unless_killed, launch_id, when_it_ends

RUNNING = SimpleNamespace(is_shutdown=False)


def exited(code: int) -> SimpleNamespace:
    return SimpleNamespace(returncode=code)


@pytest.mark.parametrize("name", RETURNING)
def test_in_real_time_a_node_is_started_again(name: str) -> None:
    assert when_it_ends(name, lockstep=False)["respawn"] is True
    assert "respawn" not in when_it_ends(name, lockstep=True), "results would not be those of the seed"


def test_the_simulated_robot_is_not() -> None:
    assert "respawn" not in when_it_ends("sim", lockstep=False)


def test_one_that_was_killed_is_named_and_the_run_goes_on() -> None:
    (said,) = end_unless_killed("actor")(exited(-9), RUNNING)
    assert isinstance(said, LogInfo)


def test_one_that_ended_by_itself_ends_the_run() -> None:
    (end,) = end_unless_killed("teleop")(exited(0), RUNNING)
    assert isinstance(end, Shutdown)
    with pytest.raises(RuntimeError, match="features failed with exit code 1"):
        end_unless_killed("features")(exited(1), RUNNING)


def test_one_that_dies_again_and_again_ends_the_run() -> None:
    ended = end_unless_killed("actor")
    for _ in range(DEATHS):
        ended(exited(-11), RUNNING)
    with pytest.raises(RuntimeError, match="actor was killed 6 times, the last time by SIGSEGV"):
        ended(exited(-11), RUNNING)


def test_a_launch_that_ends_kills_nobody_for_failing() -> None:
    (end,) = end_unless_killed("actor")(exited(-9), SimpleNamespace(is_shutdown=True))
    assert isinstance(end, Shutdown)


def test_every_launch_has_a_name_of_its_own() -> None:
    assert launch_id(lockstep=False) != launch_id(lockstep=False)
    assert launch_id(lockstep=True) == {"launch_id": ""}
