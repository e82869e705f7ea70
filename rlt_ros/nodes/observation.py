"""Camera and state publisher: one `observation` per control step from the topics of cameras and robot."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import Image

from rlt_ros import msg
from rlt_ros.loop.synchroniser import LatestSynchroniser, Stale, StampSynchroniser
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import stamp_of, step_from_message
from rlt_ros.nodes.convert_robot import image_from_message, observation_to_message, robot_state, state_streams
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.kinematics import tool_twist
from rlt_ros.robot.state import proprioception
from rlt_ros.types import ExecutedStep, Observation

SETTLING_TIME = 1.0


class ObservationNode(BaseNode):
    """Joins images and robot state of one moment, refuses what is stale or malformed, and numbers the result."""

    def __init__(self) -> None:
        super().__init__("observation")
        self._robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        self._size = declare(self, "image_size", 64, "Side of the square policy images [pixels].")
        self._last: Observation | None = None
        self._executed: ExecutedStep | None = None
        self._waiting: tuple[int, dict[str, Any]] | None = None
        self._publisher = self.create_publisher(msg.Observation, "observation", qos.STEP)
        # After a restart the count goes on where the latched executed_step says; give that one time to arrive.
        self._settled = False
        self._settling = self.every(SETTLING_TIME, self._on_settled)
        self.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.EXECUTED)
        self._connect()

    def _connect(self) -> None:
        streams = state_streams(self._robot.topics)
        streams |= {f"camera {name}": (Image, topic) for name, topic in self._robot.cameras.items()}
        names = tuple(streams)
        limit = int(self._robot.limits.stale_after * 1e9)
        self._equal = StampSynchroniser(names, depth=8) if self.lockstep else None
        self._latest = None if self.lockstep else LatestSynchroniser(names, limit)
        for name, (kind, topic) in streams.items():
            self.listen(kind, self.robot_topic(topic), lambda m, name=name: self._on_sensor(name, m), qos.SENSOR)
        if not self.lockstep:
            self.every(1.0 / self._robot.control_rate, self._on_tick)

    def _on_sensor(self, name: str, message: Any) -> None:
        stamp = stamp_of(message.header)
        if self._latest is not None:
            self._latest.add(name, stamp, message, self.get_clock().now().nanoseconds)
            return
        if self._last is not None and stamp == self._last.stamp:
            self._repeat(name)
            return
        complete = self._equal.add(name, stamp, message)
        if complete is not None:
            self._waiting = (stamp, complete)
            self._emit_when_counted()

    def _repeat(self, name: str) -> None:
        # The simulator sends a step again when its answer did not come: somebody may have missed the observation.
        if name == "current_pose":
            self._publish(self._last)

    def _on_tick(self) -> None:
        now = self.get_clock().now().nanoseconds
        try:
            complete = self._latest.snapshot(now)
        except Stale as error:
            self.get_logger().warning(f"no observation: {error}", throttle_duration_sec=2.0)
            return
        self._waiting = (max(stamp_of(m.header) for m in complete.values()), complete)
        self._emit_when_counted()

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        step = step_from_message(message)
        if self._executed is None or step.observation_id >= self._executed.observation_id:
            self._executed = step
        self._emit_when_counted()

    def _on_settled(self) -> None:
        self._settling.cancel()
        self._settled = True
        self._emit_when_counted()

    def _emit_when_counted(self) -> None:
        if self._waiting is None or not (self._settled or self._executed):
            return
        # Episode and step follow from the step before; in lockstep its report is on the way whenever sensors moved on.
        if self.lockstep and self._last is not None and not self._answered():
            return
        stamp, complete = self._waiting
        self._waiting = None
        self._last = self._build(stamp, complete)
        self._publish(self._last)

    def _answered(self) -> bool:
        return self._executed is not None and self._executed.observation_id >= self._last.id

    def _build(self, stamp: int, complete: dict[str, Any]) -> Observation:
        config, done = self._robot, self._executed
        state = robot_state(complete, stamp, config.joint_names, config.finger_joint_names, config.base_frame)
        twist = tool_twist(state.joint_positions, state.joint_velocities)
        last_id = max(self._last.id if self._last else 0, done.observation_id if done else 0)
        return Observation(
            id=last_id + 1,
            stamp=stamp,
            episode=0 if done is None else done.episode + int(done.reset_done),
            # In real time the report of the step before may be late.
            step=0 if done is None else last_id - done.observation_id + (0 if done.reset_done else done.step + 1),
            images={name: image_from_message(complete[f"camera {name}"], self._size) for name in config.cameras},
            proprio=proprioception(state, config.reference, twist),
        )

    def _publish(self, observation: Observation) -> None:
        self._publisher.publish(observation_to_message(observation, self._robot.base_frame))


def main() -> None:
    """Entry point."""
    run(ObservationNode)
