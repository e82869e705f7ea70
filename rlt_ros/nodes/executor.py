"""The Franka chunk executor: the only publisher of commands to the controller; says what was really done."""

from __future__ import annotations

import time
from typing import Any

from rclpy.task import Future

from rlt_ros import msg, srv
from rlt_ros.loop.executor import ChunkExecutor, HumanCommand, StepResult
from rlt_ros.loop.synchroniser import LatestSynchroniser, Stale, StampSynchroniser
from rlt_ros.nodes import qos
from rlt_ros.nodes.commands import CommandPort
from rlt_ros.nodes.convert import (
    chunk_from_message,
    mode_from_message,
    stamp_of,
    step_to_message,
    vector,
)
from rlt_ros.nodes.convert_robot import Part, robot_state
from rlt_ros.nodes.gripper_client import GripperClient
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.recovery import RecoveryClient
from rlt_ros.nodes.robot_listener import RobotListener
from rlt_ros.nodes.runtime import ManagedNode, run
from rlt_ros.nodes.side import Side
from rlt_ros.robot.commands.base import SetPoint
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.state import RobotState
from rlt_ros.types import Driver, PolicyMode


class ExecutorNode(ManagedNode):
    """Topics around `loop.executor.ChunkExecutor`: one `executed_step` for every observation."""

    def __init__(self) -> None:
        super().__init__("executor")
        self._robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        self._wait_for_chunk = declare(self, "wait_for_chunk", 0.03, "Real time: seconds to wait for a late chunk.")
        self._resets_by = declare(self, "reset", "teleport", "teleport: ask the simulator; motion: move the arm.")
        if self._resets_by not in ("teleport", "motion"):
            raise ValueError(f"parameter reset is {self._resets_by!r}; expected teleport or motion")
        self._side: Side | None = None
        self._observation: msg.Observation | None = None
        self._states: dict[int, RobotState] = {}
        self._modes: dict[int, PolicyMode] = {}
        self._human: dict[int, HumanCommand] = {}
        self._pending = False
        self._arrived = 0.0
        self._alone = False

    # lifecycle

    def setup(self) -> None:
        config = self._robot
        self._commands = CommandPort(self, config)
        self._core = ChunkExecutor(
            config, lockstep=self.lockstep, refuses=self._commands.refuses, moves=self._resets_by == "motion"
        )
        self._steps = self.create_publisher(msg.ExecutedStep, "executed_step", qos.EXECUTED)
        self._reset_client = self.create_client(srv.ResetRobot, self.robot_topic(config.topics.reset))
        self._side = Side(self, "side")
        self._gripper = GripperClient(self._side, config, self.robot_topic)
        self._recovery = RecoveryClient(self, self._side, config, self._core.recovery)
        self._connect_robot()
        self.listen(msg.Observation, "observation", self._on_observation, qos.STEP)
        self.listen(msg.ActionChunk, "action_chunk", self._on_chunk, qos.COMMAND)
        self.listen(msg.PolicyMode, "policy_mode", self._on_mode, qos.STEP)
        self.listen(msg.HumanAction, "human_action", self._on_human, qos.STEP)
        self.every(0.2 if self.lockstep else 0.01, self._on_tick)

    def _connect_robot(self) -> None:
        streams = tuple(RobotListener(self, self._robot, self._on_robot).streams)
        limit = int(self._robot.limits.stale_after * 1e9)
        self._equal = StampSynchroniser(streams, depth=8) if self.lockstep else None
        self._latest = None if self.lockstep else LatestSynchroniser(streams, limit)

    def stop(self) -> None:
        target = self._core.hold()
        if target is not None and self._alone:
            self._commands.hold(target, None, self._now())

    def close(self) -> None:
        super().close()
        if self._side is not None:
            self._side.close()

    def _now(self) -> int:
        return self.get_clock().now().nanoseconds

    # what comes in

    def _on_robot(self, name: str, part: Part) -> None:
        if self._latest is not None:
            self._latest.add(name, part.stamp, part, self._now())
            return
        complete = self._equal.add(name, part.stamp, part)
        if complete is not None:
            self._remember(self._states, part.stamp, robot_state(complete, self._robot))
            self._advance()

    @staticmethod
    def _remember(table: dict[int, Any], key: int, value: Any) -> None:
        table[key] = value
        while len(table) > 16:
            del table[min(table)]

    def _on_observation(self, message: msg.Observation) -> None:
        newest = 0 if self._observation is None else self._observation.id
        if message.id < newest:
            return
        if message.id > newest:
            self._arrived = time.monotonic()
        # A repeated observation asks for the same answer again: somebody may have missed it.
        self._observation, self._pending = message, True
        self._advance()

    def _on_chunk(self, message: msg.ActionChunk) -> None:
        try:
            self._core.offer(chunk_from_message(message))
        finally:
            self._advance()

    def _on_mode(self, message: msg.PolicyMode) -> None:
        mode = mode_from_message(message)
        self._remember(self._modes, mode.observation_id, mode)
        self._advance()

    def _on_human(self, message: msg.HumanAction) -> None:
        action = vector(message.action, 7, "action")
        command = HumanCommand(message.observation_id, stamp_of(message.header), action)
        self._remember(self._human, message.observation_id, command)
        self._advance()

    def _on_tick(self) -> None:
        if self.active and not self._alone:
            self._alone = self._commands.publishers() == 1
            if not self._alone:
                # Controllers ignore a command topic with two publishers, and DDS counts a killed one for up to 15 s.
                self.get_logger().warning(
                    f"{self._commands.topic} has another publisher; waiting", throttle_duration_sec=2.0
                )
        self._advance()

    # what is done

    def _advance(self) -> None:
        observation = self._observation
        if not (self.active and self._alone and self._pending):
            return
        state, mode = self._inputs(observation)
        if state is None or mode is None:
            return
        human = self._human.get(observation.id) or self._human.get(0)
        patient = time.monotonic() - self._arrived < self._wait_for_chunk
        result = self._core.step(
            observation.id,
            stamp_of(observation.header),
            observation.episode,
            observation.step,
            state,
            mode,
            human,
            patient=patient,
        )
        if result is not None:
            self._carry_out(observation, mode, state, result)

    def _inputs(self, observation: msg.Observation) -> tuple[RobotState | None, PolicyMode | None]:
        if self.lockstep:
            return self._states.get(stamp_of(observation.header)), self._modes.get(observation.id)
        try:
            complete = self._latest.snapshot(self._now())
        except Stale as error:
            self.get_logger().warning(f"holding: {error}", throttle_duration_sec=1.0)
            return None, None
        return robot_state(complete, self._robot), self._modes.get(max(self._modes, default=0))

    def _carry_out(self, observation: msg.Observation, mode: PolicyMode, state: RobotState, result: StepResult) -> None:
        if result.wants_reset:
            self._request_reset(mode.reset_seed)
            return
        self._pending = False
        stamp = stamp_of(observation.header)
        if result.gripper is not None:
            self._gripper.command(result.gripper)
        if result.target is not None and result.executed.driver is Driver.HOLD:
            self._commands.hold(result.target, state, stamp)
        elif result.target is not None:
            self._commands.send([SetPoint(result.target)], state, stamp)
        self._steps.publish(step_to_message(result.executed))
        if result.executed.reason and not result.executed.reason.startswith("operator:"):
            self.get_logger().warning(f"holding: {result.executed.reason}", throttle_duration_sec=1.0)

    # reset

    def _request_reset(self, seed: int) -> None:
        if not self._reset_client.service_is_ready():
            self.get_logger().error(f"reset failed: {self._reset_client.srv_name} has no server")
            self._core.reset_finished(False)
            return
        future = self._reset_client.call_async(srv.ResetRobot.Request(seed=int(seed)))
        future.add_done_callback(self._on_reset_done)

    def _on_reset_done(self, future: Future) -> None:
        response = future.result()
        if not response.success:
            self.get_logger().error(f"reset failed: {response.message}")
        self._commands.restart()
        self._core.reset_finished(bool(response.success))
        self._advance()


def main() -> None:
    """Entry point."""
    run(ExecutorNode)
