"""Camera and state publisher: one `observation` per control step from the topics of cameras and robot."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import Image

from rlt_ros import msg
from rlt_ros.loop.episode_count import EpisodeCount
from rlt_ros.loop.picture_watch import PictureWatch
from rlt_ros.loop.synchroniser import LatestSynchroniser, Stale, StampSynchroniser
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import stamp_of, step_from_message
from rlt_ros.nodes.convert_robot import Part, image_from_message, observation_to_message, robot_state
from rlt_ros.nodes.diagnostics import Diagnostics, Reports
from rlt_ros.nodes.frames import StaticFrames, camera_mounts
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.robot_listener import RobotListener
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.ranges import Pixels, Seconds
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.state import RobotState, proprioception
from rlt_ros.types import Observation

SETTLING_TIME = 1.0
MAX_AGE = 0.12
"""s. The step upon the last observation takes 0.07 s more to reach its target: together the arm stands within 0.2 s."""


class ObservationNode(BaseNode):
    """Joins images and robot state of one moment, refuses what is stale or malformed, and numbers the result."""

    def __init__(self) -> None:
        super().__init__("observation")
        self._robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        help_text = "Refuse black and repeated pictures; false for cameras without noise."
        checked = declare(self, "check_pictures", True, help_text) and not self.lockstep
        self._max_age = declare(self, "max_age", MAX_AGE, "Real time: s; what is older makes no observation.", Seconds)
        self._size = declare(self, "image_size", 64, "Side of the square policy images [pixels].", Pixels)
        self._watches = {name: PictureWatch() for name in self._robot.cameras} if checked else {}
        self._last: Observation | None = None
        self._count = EpisodeCount()
        self._waiting: dict[str, Any] | None = None
        self._publisher = self.create_publisher(msg.Observation, "observation", qos.STEP)
        self._frames = StaticFrames(self, camera_mounts(self._robot))
        # After a restart the count goes on where the latched executed_step says; give that one time to arrive.
        self._settled = False
        self._settling = self.every(SETTLING_TIME, self._on_settled)
        self.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.EXECUTED)
        self._why_none = ""
        self._connect()
        Reports(self, self._robot.name, self._diagnose)

    def _connect(self) -> None:
        self._robot_topics = RobotListener(self, self._robot, self._on_robot, report=False)
        names = (*self._robot_topics.streams, *(f"camera {name}" for name in self._robot.cameras))
        self._first = names[0]
        limit = int(min(self._max_age, self._robot.limits.stale_after) * 1e9)
        self._equal = StampSynchroniser(names, depth=8) if self.lockstep else None
        self._latest = None if self.lockstep else LatestSynchroniser(names, limit)
        for name, topic in self._robot.cameras.items():
            self.listen(Image, self.robot_topic(topic), lambda m, name=name: self._on_image(name, m), qos.SENSOR)
        if not self.lockstep:
            self.every(1.0 / self._robot.control_rate, self._on_tick)

    def _on_robot(self, name: str, part: Part) -> None:
        self._add(name, part.stamp, part)

    def _on_image(self, camera: str, message: Image) -> None:
        if camera in self._watches:
            self._watches[camera].look(message.data, message.encoding)
        self._add(f"camera {camera}", stamp_of(message.header), message)

    def _add(self, name: str, stamp: int, value: Any) -> None:
        if self._latest is not None:
            self._latest.add(name, stamp, value, self.get_clock().now().nanoseconds)
            return
        if self._last is not None and stamp == self._last.stamp:
            self._repeat(name)
            return
        complete = self._equal.add(name, stamp, value)
        if complete is not None:
            self._waiting = complete
            self._emit_when_counted()

    def _repeat(self, name: str) -> None:
        # The simulator sends a step again when its answer did not come: somebody may have missed the observation.
        if name == self._first:
            self._publish(self._last)

    def _on_tick(self) -> None:
        try:
            complete = self._latest.snapshot(self.get_clock().now().nanoseconds)
        except Stale as error:
            absent = self._robot_topics.absent()
            silent = f"; nobody publishes {', '.join(absent)}" if absent else ""
            self._why_none = f"no observation: {error}{silent}"
            self.get_logger().warning(self._why_none, throttle_duration_sec=2.0)
            return
        self._waiting = complete
        self._emit_when_counted()

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        self._count.add(step_from_message(message))
        self._emit_when_counted()

    def _on_settled(self) -> None:
        self._settling.cancel()
        self._settled = True
        self._emit_when_counted()

    def _emit_when_counted(self) -> None:
        if self._waiting is None or not (self._settled or self._count.executed):
            return
        # Episode and step follow from the step before; in lockstep its report is on the way whenever sensors moved on.
        if self.lockstep and self._last is not None and not self._answered():
            return
        complete, self._waiting = self._waiting, None
        try:
            self._last = self._build(complete)
        except ValueError as error:
            self._why_none = f"no observation: {error}"
            self.get_logger().error(self._why_none, throttle_duration_sec=1.0)
            return
        self._why_none = ""
        self._publish(self._last)

    def _diagnose(self, say: Diagnostics) -> None:
        number = self._last.id if self._last is not None else 0
        say.say("observations", self._why_none, newest=number)

    def _answered(self) -> bool:
        done = self._count.executed
        return done is not None and done.observation_id >= self._last.id

    def _build(self, complete: dict[str, Any]) -> Observation:
        config = self._robot
        state = robot_state(complete, config)
        messages = {name: complete[f"camera {name}"] for name in config.cameras}
        number, episode, step = self._count.following(self._last.id if self._last else 0)
        return Observation(
            id=number,
            stamp=max(state.stamp, *(stamp_of(m.header) for m in messages.values())),
            episode=episode,
            step=step,
            images={name: image_from_message(m, self._size) for name, m in messages.items()},
            proprio=self._proprio(state, episode),
        )

    def _proprio(self, state: RobotState, episode: int) -> np.ndarray:
        twist = tool_twist(state.joint_positions, state.joint_velocities)
        before = self._last.proprio if self._last is not None and self._last.episode == episode else None
        return proprioception(state, self._robot.reference, twist, before)

    def _publish(self, observation: Observation) -> None:
        self._publisher.publish(observation_to_message(observation, self._robot.base_frame))


def main() -> None:
    """Entry point."""
    run(ObservationNode)
