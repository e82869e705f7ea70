"""Commands to the Franka hand: one goal in flight, the newest wish wins."""

from __future__ import annotations

from typing import Any

from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.task import Future

from rlt_ros.robot.config import RobotConfig

try:
    from franka_msgs.action import Grasp, Move
    from franka_msgs.msg import GraspEpsilon
except ImportError:  # no binary release for every distribution
    Grasp = Move = None

# A grasp whose width is outside epsilon reports failure although it holds the part.
WIDE_EPSILON = 0.08


class GripperClient:
    """Turns held states (-1 closed, +1 open) into `grasp` and `move` goals of franka_gripper.

    The driver runs every goal in a thread of its own and pre-empts none, so a goal per control step would queue up.
    """

    def __init__(self, node: Node, config: RobotConfig) -> None:
        self._node, self._config = node, config.gripper
        self._wish: float | None = None
        self._busy = False
        if Move is None:
            node.get_logger().warning("franka_msgs is not installed: the gripper is left as it is")
            return
        self._move = ActionClient(node, Move, node.robot_topic(config.topics.gripper_move))
        self._grasp = ActionClient(node, Grasp, node.robot_topic(config.topics.gripper_grasp))

    def command(self, held: float) -> None:
        """Open (+1) or close (-1)."""
        if Move is None:
            return
        self._wish = held
        self._send_next()

    def _send_next(self) -> None:
        if self._busy or self._wish is None:
            return
        client, goal = self._goal(self._wish)
        if not client.server_is_ready():
            self._node.get_logger().warning("the gripper has no action server", throttle_duration_sec=5.0)
            return
        self._wish, self._busy = None, True
        client.send_goal_async(goal).add_done_callback(self._accepted)

    def _goal(self, held: float) -> tuple[ActionClient, Any]:
        c = self._config
        if held > 0:
            return self._move, Move.Goal(width=float(c.open_width), speed=float(c.speed))
        epsilon = GraspEpsilon(inner=WIDE_EPSILON, outer=WIDE_EPSILON)
        goal = Grasp.Goal(width=float(c.closed_width), speed=float(c.speed), force=float(c.force), epsilon=epsilon)
        return self._grasp, goal

    def _accepted(self, future: Future) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            self._finished(None)
            return
        handle.get_result_async().add_done_callback(self._finished)

    def _finished(self, _: Future | None) -> None:
        self._busy = False
        self._send_next()
