"""What a person's device did is stored so that it can be done again, whatever axes it moved along."""

from __future__ import annotations

import numpy as np
import pytest
from device_parts import pad
from hypothesis import given
from hypothesis import strategies as st
from loop_parts import ROBOT, mode, stamp, state

from rlt_ros.loop.executor import ChunkExecutor
from rlt_ros.loop.human import HumanCommand
from rlt_ros.operator.devices.axes import action, twist
from rlt_ros.operator.devices.frames import AxisFrame
from rlt_ros.robot.pose import Pose
from rlt_ros.types import Driver, Mode

sticks = st.dictionaries(st.sampled_from([0, 1, 3, 4]), st.floats(-1.0, 1.0))


class Arm:
    """An executor and an arm that is always where it was sent."""

    def __init__(self, start: Pose) -> None:
        self._executor = ChunkExecutor(ROBOT, lockstep=False)
        self.pose, self._count = start, 0

    def move(self, command: np.ndarray) -> np.ndarray:
        """One control step of a person; what was stored of it."""
        self._count += 1
        i = self._count
        self._executor.observe(i, stamp(i))
        measured = state(i, pose=self.pose)
        human = HumanCommand(0, stamp(i), command)
        result = self._executor.step(i, stamp(i), 1, i, measured, mode(i, Mode.HUMAN), human=human)
        assert result.executed.driver is Driver.HUMAN, result.executed.reason
        self.pose = result.target
        return result.executed.action


@pytest.mark.parametrize("frame", ["base", "tool"])
@given(moves=st.lists(sticks, min_size=1, max_size=25), turn=st.floats(-0.6, 0.6))
def test_the_stored_actions_replayed_reproduce_the_motion(frame: str, moves: list, turn: float) -> None:
    start = ROBOT.reference.moved(np.zeros(3), np.array([0.0, 0.0, turn]))
    device = pad(frame=frame)
    axes = AxisFrame(device, ROBOT, "pad")
    arm, again = Arm(start), Arm(start)
    stored, way = [], []
    for axis in moves:
        stored.append(arm.move(action([(twist(device, axis), axes.in_base(arm.pose.rotation))], 0.0)))
        way.append(arm.pose)
    for done, pose in zip(stored, way, strict=True):
        again.move(done)
        np.testing.assert_allclose(again.pose.position, pose.position, atol=1e-9)
        np.testing.assert_allclose(again.pose.rotation.as_matrix(), pose.rotation.as_matrix(), atol=1e-9)
