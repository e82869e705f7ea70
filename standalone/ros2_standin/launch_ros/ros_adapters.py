"""The launch's own ROS node, made when an action first needs it."""

from __future__ import annotations

import os
import threading
from typing import Any

from launch.event_handlers import OnShutdown

from launch import LaunchContext


class ROSAdapter:
    """A node that spins in a thread of its own."""

    def __init__(self) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions

        self._rclpy = rclpy
        self._context = rclpy.Context()
        # signals stay with the launch, or rclpy would end this node before the processes
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.ros_node = rclpy.create_node(f"launch_ros_{os.getpid()}", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.ros_node)
        self._running = True
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def shutdown(self) -> None:
        """Stop spinning and destroy the node."""
        self._running = False
        self._executor.wake()
        self._thread.join()
        self._executor.shutdown()
        self.ros_node.destroy_node()
        self._rclpy.shutdown(context=self._context)

    def _spin(self) -> None:
        while self._running:
            self._executor.spin_once(timeout_sec=0.5)


def get_ros_adapter(context: LaunchContext) -> ROSAdapter:
    """Return the adapter of this launch."""
    known = context.get_locals_as_dict().get("ros_adapter")
    if known is not None:
        return known
    adapter = ROSAdapter()
    context.extend_globals({"ros_adapter": adapter})
    context.register_event_handler(OnShutdown(on_shutdown=lambda event, context: adapter.shutdown()))
    return adapter


def get_ros_node(context: LaunchContext) -> Any:
    """Return the node of this launch."""
    return get_ros_adapter(context).ros_node
