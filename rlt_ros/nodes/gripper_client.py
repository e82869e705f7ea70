"""Commands to a gripper's actions, in a thread of their own; `robot.gripper_goals` decides what goes out when."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.task import Future

from rlt_ros.nodes.side import Side
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.gripper_goals import Goal, GripperGoals, Order

try:
    from franka_msgs.action import Grasp, Homing, Move
    from franka_msgs.msg import GraspEpsilon
except ImportError:  # no binary release for every distribution
    Grasp = Homing = Move = None
try:
    from control_msgs.action import GripperCommand
except ImportError:
    GripperCommand = None

WIDE_EPSILON = 0.08
"""m: a grasp whose width is outside epsilon reports failure although it holds the part."""
PERIOD = 0.05
"""s between two looks at goals and wishes."""


class GripperClient:
    """Turns held states (-1 closed, +1 open) into goals of the driver that the robot config names."""

    def __init__(self, side: Side, robot: RobotConfig, topic: Callable[[str], str]) -> None:
        self._side = side
        self._goals = GripperGoals(robot.gripper)
        self._kinds = _kinds(robot)
        self._names = {kind: topic(name) for kind, name, _ in self._kinds.values()}
        self._clients = {kind: ActionClient(side.node, kind, name) for kind, name in self._names.items()}
        self._number, self._handle = 0, None
        absent = missing_package(robot)
        if absent:
            driver = robot.gripper.driver
            side.log.warning(
                f"{absent} is not installed, which gripper.driver {driver} needs: the gripper stays as it is"
            )
        if self._kinds:
            side.every(PERIOD, self._step)

    @property
    def status(self) -> str:
        """What is wrong with the gripper, empty if nothing is known to be."""
        return self._goals.status

    def command(self, held: float) -> None:
        """Open (+1) or close (-1); returns at once."""
        if self._kinds:
            self._side.post(lambda: self._goals.wish(held))

    def _step(self) -> None:
        goal = self._goals.next_goal
        if goal is not None and goal not in self._kinds:
            self._goals.skip(f"{goal.value} is not offered by this driver")
        order = self._goals.step(time.monotonic(), self._absent(goal))
        if order is not None:
            self._carry_out(order)
        for line in self._goals.news():
            self._side.log.warning(line)

    def _absent(self, goal: Goal | None) -> str:
        if goal not in self._kinds:
            return ""
        kind = self._kinds[goal][0]
        return "" if self._clients[kind].server_is_ready() else self._names[kind]

    def _carry_out(self, order: Order) -> None:
        if order.goal is None:
            if self._handle is not None:
                self._handle.cancel_goal_async()
            return
        kind, _, make = self._kinds[order.goal]
        self._number, self._handle = order.number, None
        sent = self._clients[kind].send_goal_async(make())
        sent.add_done_callback(lambda future: self._accepted(order, future))

    def _accepted(self, order: Order, future: Future) -> None:
        handle: ClientGoalHandle | None = future.result()
        if handle is None or not handle.accepted:
            self._goals.finished(order.number, False, "the goal was refused")
            return
        if order.number == self._number:
            self._handle = handle
        handle.get_result_async().add_done_callback(lambda done: self._ended(order, done))

    def _ended(self, order: Order, future: Future) -> None:
        answer = future.result()
        ok, message = _judged(order.goal, answer.status, answer.result)
        self._goals.finished(order.number, ok, message)


def _judged(goal: Goal, status: int, result: Any) -> tuple[bool, str]:
    """Whether a goal did what it should, and what the driver says if not."""
    if hasattr(result, "reached_goal"):
        # Fingers that meet the part do not reach the width: that is what closing is for.
        ok = result.reached_goal or (goal is Goal.CLOSE and result.stalled)
        return bool(ok), f"stands at {2 * result.position:.4f} m"
    ok = status == GoalStatus.STATUS_SUCCEEDED and result.success
    return bool(ok), str(result.error) or f"goal status {status}"


Make = Callable[[], Any]


def missing_package(robot: RobotConfig) -> str:
    """Package that the driver needs and that is not installed, empty if there is none."""
    if robot.gripper.driver == "gripper_command":
        return "control_msgs" if GripperCommand is None else ""
    return "franka_msgs" if robot.gripper.driver == "franka_hand" and Move is None else ""


def _kinds(robot: RobotConfig) -> dict[Goal, tuple[type, str, Make]]:
    """Goal to action type, action name and maker of its message; empty where the gripper is to be left alone."""
    if robot.gripper.driver == "none" or missing_package(robot):
        return {}
    return _command_kinds(robot) if robot.gripper.driver == "gripper_command" else _hand_kinds(robot)


def _command_kinds(robot: RobotConfig) -> dict[Goal, tuple[type, str, Make]]:
    g, name = robot.gripper, robot.topics.gripper_action
    return {
        Goal.OPEN: (GripperCommand, name, lambda: _half_width(g.open_width, g.force)),
        Goal.CLOSE: (GripperCommand, name, lambda: _half_width(g.closed_width, g.force)),
    }


def _hand_kinds(robot: RobotConfig) -> dict[Goal, tuple[type, str, Make]]:
    g, topics = robot.gripper, robot.topics

    def grasp() -> Any:
        epsilon = GraspEpsilon(inner=WIDE_EPSILON, outer=WIDE_EPSILON)
        return Grasp.Goal(width=float(g.closed_width), speed=float(g.speed), force=float(g.force), epsilon=epsilon)

    return {
        Goal.OPEN: (Move, topics.gripper_move, lambda: Move.Goal(width=float(g.open_width), speed=float(g.speed))),
        Goal.CLOSE: (Grasp, topics.gripper_grasp, grasp),
        Goal.HOME: (Homing, topics.gripper_homing, Homing.Goal),
    }


def _half_width(width: float, force: float) -> Any:
    goal = GripperCommand.Goal()
    goal.command.position, goal.command.max_effort = float(width / 2), float(force)
    return goal
