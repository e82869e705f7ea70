"""A gripper's action servers that do what a test says: at once, never, or badly."""

from __future__ import annotations

import threading
import time
from typing import Any

import rclpy
from control_msgs.action import GripperCommand
from franka_msgs.action import Grasp, Homing, Move
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import MultiThreadedExecutor

KINDS = {"move": Move, "grasp": Grasp, "homing": Homing, "gripper_action": GripperCommand}


class HandServer:
    """Every goal is accepted and runs in a thread of its own, as in franka_gripper; `goals` has what came."""

    def __init__(self, domain: int, stall: float = 0.0, hears_cancel: bool = False, fails: str = "") -> None:
        self.stall, self.hears_cancel, self.fails = stall, hears_cancel, fails
        self.stalled = False
        self.accepts = True
        self.goals: list[tuple[str, Any]] = []
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("franka_gripper", context=self._context)
        group = ReentrantCallbackGroup()
        self._servers = [
            ActionServer(
                self._node, kind, f"/franka_gripper/{name}", lambda goal, name=name: self._run(name, goal),
                goal_callback=lambda _: GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT,
                cancel_callback=lambda _: CancelResponse.ACCEPT if self.hears_cancel else CancelResponse.REJECT,
                callback_group=group,
            )
            for name, kind in KINDS.items()
        ]  # fmt: skip
        self._executor = MultiThreadedExecutor(6, context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._closed = threading.Event()
        self._thread.start()

    @property
    def names(self) -> list[str]:
        """Actions whose goals came, in their order."""
        return [name for name, _ in self.goals]

    def close(self) -> None:
        """Be gone."""
        self._closed.set()
        self._thread.join(5.0)
        self._executor.shutdown(1.0)
        for server in self._servers:
            server.destroy()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _spin(self) -> None:
        while not self._closed.is_set():
            self._executor.spin_once(timeout_sec=0.1)

    def _run(self, name: str, goal: Any) -> Any:
        self.goals.append((name, goal.request))
        end = time.monotonic() + self.stall
        while time.monotonic() < end and not self._closed.is_set():
            if goal.is_cancel_requested:
                goal.canceled()
                return KINDS[name].Result()
            time.sleep(0.02)
        if self.fails:
            goal.abort()
        else:
            goal.succeed()
        if name == "gripper_action":
            position = goal.request.command.position
            return GripperCommand.Result(position=position, stalled=self.stalled, reached_goal=not self.stalled)
        return KINDS[name].Result(success=not self.fails, error=self.fails)
