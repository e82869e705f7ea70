"""Faults of the simulated robot on request: a launch argument, a service, and the recovery that ends a reflex."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from rclpy.action import ActionServer
from rclpy.publisher import Publisher
from rclpy.task import Future

from rlt_ros import srv
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.nodes.sim_controller_manager import SimControllerManager
from rlt_ros.robot.commands.base import CommandRefused
from rlt_ros.robot.config import RobotConfig
from rlt_ros.sim.driver import SimDriver
from rlt_ros.sim.fault_effects import FaultyRobot
from rlt_ros.sim.faults import FaultRefused, FaultSchedule
from rlt_ros.sim.peg import PegInsertion

try:
    from franka_msgs.action import ErrorRecovery
except ImportError:  # no binary release for every distribution
    ErrorRecovery = None

SERVICE = "sim/fault"


class SimFaults:
    """`robot`: the faults that are there now. Call `advance` once per step, before commands and world."""

    def __init__(self, node: BaseNode, world: PegInsertion, config: RobotConfig) -> None:
        self._node, self._world, self._now = node, world, 0.0
        schedule = FaultSchedule(config.cameras, node.lockstep)
        help_text = "Faults planned: kind[/target]@start:seconds[=value], by commas; robot time [s]."
        schedule.plan(declare(node, "fault", "", help_text))
        self.robot = FaultyRobot(schedule, seed=world.episode.seed)
        self.driver = SimDriver(config.recovery, schedule)
        SimControllerManager(node, config.topics, self.driver, lambda: self._now)
        self._grasped = world.pose
        self._late: list[tuple[float, Publisher, Any]] = []
        self._recovering: list[tuple[float, Future]] = []
        self._told: list[str] = []
        node.create_service(srv.SimFault, node.robot_topic(SERVICE), self._on_request)
        if ErrorRecovery is not None:
            topic = node.robot_topic(config.topics.error_recovery)
            self._server = ActionServer(node, ErrorRecovery, topic, self._recover)

    def advance(self, now: float) -> None:
        """Go on to a moment of robot time [s]."""
        self._now = now
        self._end_recoveries()
        if self.robot.advance(now):
            self._world.halt()
            self._grasped = self._world.pose
        if self.robot.lift is not None:
            with suppress(CommandRefused):  # a joint has come to its end: there the person stops lifting
                self._world.command(self._grasped.moved((0.0, 0.0, self.robot.lift), (0.0, 0.0, 0.0)))
        if self.robot.gripper_stuck:
            self._world.fingers.stop()
        if self._told != self.robot.names:
            self._told = self.robot.names
            self._node.get_logger().warning(f"simulated faults now: {', '.join(self._told) or 'none'}")

    def send_late(self, due: float, publisher: Publisher, message: Any) -> None:
        """Publish a picture when it is due."""
        self._late.append((due, publisher, message))

    def flush(self) -> None:
        """Publish what is due by now."""
        ready = [item for item in self._late if item[0] <= self._now]
        self._late = [item for item in self._late if item[0] > self._now]
        for _, publisher, message in ready:
            publisher.publish(message)

    def _on_request(self, request: srv.SimFault.Request, response: srv.SimFault.Response) -> srv.SimFault.Response:
        try:
            kind, seconds, value, target = request.kind, request.seconds, request.value, request.target
            response.message = self.robot.schedule.begin(kind, seconds, value, target, self._now)
            response.success = True
        except FaultRefused as error:
            response.success, response.message = False, str(error)
        return response

    async def _recover(self, goal: Any) -> Any:
        done = Future()
        self._recovering.append((self._now + self.robot.recovery_seconds, done))
        await done
        goal.succeed()
        return ErrorRecovery.Result()

    def _end_recoveries(self) -> None:
        over = [future for end, future in self._recovering if end <= self._now]
        self._recovering = [(end, future) for end, future in self._recovering if end > self._now]
        for future in over:
            self.driver.clear_errors(self._now)
            future.set_result(None)
