"""What is in sight, for how long, and what is not shown."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loop_parts import CENTRE, ROBOT, chunk, executed

from rlt_ros.monitor.scene import FRESH, PATH_STEPS, SceneKeeper
from rlt_ros.monitor.text import NOBODY, status_text
from rlt_ros.robot.pose import Pose
from rlt_ros.types import ActionChunk, Driver, Mode, Phase

POSE = Pose.of(CENTRE, ROBOT.reference.quaternion)
FORCE = np.array([0.0, 0.0, 5.0])


def keeper() -> SceneKeeper:
    made = SceneKeeper(ROBOT)
    made.measured(POSE, FORCE, 0.0)
    return made


def test_box_is_the_workspace_of_the_robot_config() -> None:
    lower, upper = SceneKeeper(ROBOT).scene(0.0).box
    np.testing.assert_array_equal(lower, ROBOT.limits.workspace.lower)
    np.testing.assert_array_equal(upper, ROBOT.limits.workspace.upper)


def test_what_nothing_has_told_is_not_there() -> None:
    scene = SceneKeeper(ROBOT).scene(0.0)
    assert (scene.reference, scene.actor, scene.executed, scene.tool, scene.force, scene.text) == (None,) * 5 + ("",)


def test_chunks_are_drawn_from_the_target_and_disappear_when_they_are_old() -> None:
    seen = keeper()
    seen.referred(1, np.full((12, 7), 0.5, np.float32), 0.0)
    seen.chosen(chunk(1, 0.2, Driver.ACTOR), 0.5)
    scene = seen.scene(0.6)
    assert scene.reference.positions.shape == (13, 3) and scene.actor.positions.shape == (11, 3)
    np.testing.assert_allclose(scene.reference.positions[0], CENTRE)
    step = 0.5 * ROBOT.action_scale.translation
    np.testing.assert_allclose(scene.reference.positions[-1], CENTRE + 12 * step)
    later = seen.scene(FRESH + 0.1)
    assert later.reference is None and later.actor is not None and later.tool is None


def test_a_chunk_of_the_vla_is_no_second_line() -> None:
    seen = keeper()
    seen.chosen(chunk(1, 0.2, Driver.VLA), 0.0)
    assert seen.scene(0.0).actor is None


@pytest.mark.parametrize("actions", [np.zeros((0, 7)), np.full((3, 7), np.nan), np.zeros((3, 6)), np.zeros(7)])
def test_a_chunk_that_the_executor_refuses_is_no_way(actions: np.ndarray) -> None:
    seen = keeper()
    seen.chosen(ActionChunk(1, 1, actions.astype(np.float32), Driver.ACTOR, 0, 1), 0.0)
    trace = seen.scene(0.0).actor
    assert trace is None or len(trace.positions) == 1


def test_the_path_names_who_drove_and_ends_with_the_reset() -> None:
    seen = keeper()
    for i, driver in enumerate((Driver.VLA, Driver.ACTOR, Driver.HUMAN, Driver.HOLD), 1):
        seen.measured(Pose.of(CENTRE + [0, 0, 0.001 * i], POSE.quaternion), FORCE, 0.0)
        seen.executed(executed(i, driver), 0.0)
        seen.executed(executed(i, driver), 0.0)  # repeated
    trace = seen.scene(0.0).executed
    assert trace.drivers == (Driver.VLA, Driver.ACTOR, Driver.HUMAN, Driver.HOLD)
    np.testing.assert_allclose(trace.positions[:, 2] - CENTRE[2], [0.001, 0.002, 0.003, 0.004])
    seen.executed(executed(5, Driver.RESET, reset_done=True), 0.0)
    assert seen.scene(0.0).executed is None


def test_the_path_is_bounded() -> None:
    seen = keeper()
    for i in range(1, PATH_STEPS + 50):
        seen.executed(executed(i), 0.0)
    assert len(seen.scene(0.0).executed.positions) == PATH_STEPS


def test_text_names_stage_phase_driver_and_reason() -> None:
    status = SimpleNamespace(
        stage="practice", phase=Phase.CRITICAL, phase_steps=12, mode=Mode.RL, driver=Driver.ACTOR, hold_reason=""
    )
    assert status_text(status) == "practice: CRITICAL, step 12\nasked for RL, ACTOR drives"
    status.hold_reason, status.driver = "force: 41 N", NOBODY
    assert status_text(status).endswith("nobody drives\nholds: force: 41 N")
