"""The Franka hand's actions on the simulated fingers, where franka_msgs and control_msgs are installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer
from rclpy.node import Node
from rclpy.task import Future

from rlt_ros.sim.peg import PegInsertion

try:
    from franka_msgs.action import Grasp, Homing, Move
except ImportError:  # no binary release for every distribution
    Move = None
try:
    from control_msgs.action import GripperCommand
except ImportError:
    GripperCommand = None

HAND = "franka_gripper"
OPEN_WIDTH = 0.08


class SimGripper:
    """`move`, `grasp`, `homing` and `gripper_action`. Goals take effect at the next step.

    As on the real hand every goal is accepted and nothing is pre-empted; a goal's result comes when the fingers rest.
    """

    def __init__(self, node: Node, world: PegInsertion) -> None:
        self._node, self._world = node, world
        self._commands: list[tuple[float, float | None]] = []
        self._waiting: list[Future] = []
        self._servers: list[ActionServer] = []
        if Move is not None:
            self._serve(Move, f"{HAND}/move", self._move)
            self._serve(Grasp, f"{HAND}/grasp", self._grasp)
            self._serve(Homing, f"{HAND}/homing", self._homing)
        if GripperCommand is not None:
            self._serve(GripperCommand, f"{HAND}/gripper_action", self._gripper_command)

    def _serve(self, kind: Any, name: str, execute: Callable[[Any], Any]) -> None:
        self._servers.append(ActionServer(self._node, kind, self._node.robot_topic(name), execute))

    def apply(self) -> None:
        """Hand the goals over to the world and answer those whose fingers have come to rest; once per step."""
        commands, self._commands = self._commands, []
        for width, speed in commands:
            self._world.command_gripper(width, speed)
        if commands or self._world.fingers.moving:
            return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.set_result(self._world.fingers.width)

    async def _go(self, width: float, speed: float | None) -> float:
        self._commands.append((float(width), float(speed) if speed else None))
        rest = Future()
        self._waiting.append(rest)
        return await rest

    async def _move(self, goal: Any) -> Any:
        await self._go(goal.request.width, goal.request.speed)
        goal.succeed()
        return Move.Result(success=True)

    async def _grasp(self, goal: Any) -> Any:
        wanted, epsilon = goal.request.width, goal.request.epsilon
        width = await self._go(0.0, goal.request.speed)
        grasped = wanted - epsilon.inner <= width <= wanted + epsilon.outer
        goal.succeed() if grasped else goal.abort()
        return Grasp.Result(success=bool(grasped), error="" if grasped else f"width {width:.4f} m is outside epsilon")

    async def _homing(self, goal: Any) -> Any:
        await self._go(OPEN_WIDTH, None)
        goal.succeed()
        return Homing.Result(success=True)

    async def _gripper_command(self, goal: Any) -> Any:
        width = await self._go(2 * goal.request.command.position, None)
        goal.succeed()
        reached = abs(width - 2 * goal.request.command.position) < 0.002
        return GripperCommand.Result(position=float(width / 2), effort=0.0, stalled=not reached, reached_goal=reached)
