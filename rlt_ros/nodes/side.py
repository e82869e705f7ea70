"""A node of its own in a thread of its own, for actions and services that must not disturb the control step."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

import rclpy
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor

from rlt_ros.nodes.runtime import BaseNode

JOIN_SECONDS = 2.0


class Side:
    """Runs what is posted, and the callbacks of its node's actions and services, beside the owner's executor.

    Feedback of an action at 30 Hz, a goal that stalls or a service that is slow then cost the control step nothing.
    """

    def __init__(self, owner: BaseNode, name: str) -> None:
        self.log = owner.get_logger()
        # Global arguments would give it the owner's name, which launch sets for every node of a process.
        self.node = rclpy.create_node(
            f"{owner.get_name()}_{name}",
            context=owner.context,
            namespace=owner.get_namespace(),
            use_global_arguments=False,
            start_parameter_services=False,
        )
        self._executor = SingleThreadedExecutor(context=owner.context)
        self._executor.add_node(self.node)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)
        self._thread.start()

    def post(self, work: Callable[[], None]) -> None:
        """Run something in the side thread, soon."""
        self._executor.create_task(self._guarded, work)

    def every(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call something in the side thread regularly, on the steady clock."""
        clock = rclpy.clock.Clock(clock_type=rclpy.clock.ClockType.STEADY_TIME)
        self.node.create_timer(seconds, lambda: self._guarded(callback), clock=clock)

    def close(self) -> None:
        """End the thread; what is under way is left to itself."""
        self._stopped.set()
        self._executor.wake()
        self._thread.join(JOIN_SECONDS)
        self._executor.shutdown(0.0)
        self.node.destroy_node()

    def _spin(self) -> None:
        try:
            while not self._stopped.is_set() and self.node.context.ok():
                self._executor.spin_once(timeout_sec=0.2)
        except (ExternalShutdownException, ShutdownException):
            pass

    def _guarded(self, work: Callable[[], None]) -> None:
        # What escapes would end the thread, and with it every goal from then on.
        try:
            work()
        except Exception:
            self.log.error(f"{self.node.get_name()}: {traceback.format_exc()}")
