"""A recording of the Rerun viewer, written without a display and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from loop_parts import CENTRE, ROBOT, chunk, executed
from rrd import entities

pytest.importorskip("rerun")

from rlt_ros.monitor.arm import Skeleton
from rlt_ros.monitor.rerun_log import RerunLog
from rlt_ros.monitor.scene import SceneKeeper
from rlt_ros.robot.kinematics import forward
from rlt_ros.robot.pose import Pose
from rlt_ros.types import Driver

POSE = Pose.of(CENTRE, ROBOT.reference.quaternion)
READY = np.array(ROBOT.arm.ready)


def record(file: Path) -> None:
    keeper, log = SceneKeeper(ROBOT), RerunLog(("front", "wrist"), file, live=False)
    for i in range(1, 6):
        keeper.measured(POSE, np.array([0.0, 0.0, float(i)]), 0.0)
        keeper.executed(executed(i, Driver.ACTOR), 0.0)
        keeper.referred(i, np.zeros((12, 7), np.float32), 0.0)
        keeper.chosen(chunk(i, 0.1, Driver.ACTOR), 0.0)
        keeper.said(f"step {i}", 0.0)
        log.at(0.1 * i)
        log.scene(keeper.scene(0.0))
        log.arm(Skeleton(ROBOT).points(READY))
        for camera in ("front", "wrist"):
            log.picture(camera, np.full((48, 64, 3), 10 * i, np.uint8))
        log.curves("learner_stats", {"q_mean": 0.1 * i, "nothing": float("nan")})
    log.scene(keeper.scene(60.0))  # long after the last message
    log.close()


def test_arm_ends_at_the_tool() -> None:
    points = Skeleton(ROBOT).points(READY)
    np.testing.assert_array_equal(points[0], 0.0)
    np.testing.assert_allclose(points[-1], forward(READY).position, atol=1e-9)
    assert len(points) >= 8


def test_everything_that_is_seen_is_in_the_recording(tmp_path: Path) -> None:
    record(tmp_path / "run.rrd")
    found = entities(tmp_path / "run.rrd")
    wanted = {
        "/world/workspace", "/world/reference", "/world/actor", "/world/executed", "/world/force", "/world/arm",
        "/cameras/front", "/cameras/wrist", "/status", "/curves/learner_stats/q_mean", "/curves/force/z",
    }  # fmt: skip
    assert wanted <= set(found)
    assert "/curves/learner_stats/nothing" not in found
    assert found["/curves/learner_stats/q_mean"] == 5


def test_a_recording_that_goes_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="neither a file"):
        RerunLog((), None, live=False)
