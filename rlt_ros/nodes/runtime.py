"""What every node of this package shares: start, guarded subscriptions, lifecycle, clean exit."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from rlt_ros.nodes.convert import stamp_of
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.priority import set_priority
from rlt_ros.nodes.shared_memory import remove_half_made
from rlt_ros.nodes.traffic import Traffic
from rlt_ros.ranges import Range

OUTDATED = 1.0
"""s between a message's stamp and now, in either direction, beyond which it does not belong to this run."""


class BaseNode(Node):
    """A node whose callbacks survive bad input and which ends when it says so."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.exit_code: int | None = None
        self.refused: Counter[str] = Counter()
        self.traffic = Traffic()
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.robot_namespace = declare(self, "robot_namespace", "", "Namespace of the robot's own topics.")
        self.lockstep = declare(self, "lockstep", False, "Step for step with the simulator instead of in real time.")
        nice = declare(self, "nice", 0, "Process priority; negative is higher, where permitted.", Range(-20, 19))
        help_text = "In real time: SCHED_RR priority where permitted, 0: none; else nice."
        realtime = declare(self, "realtime", 0, help_text, Range(0, 99))
        self.priority = set_priority(nice, 0 if self.lockstep else realtime)
        if "not permitted" in self.priority:
            self.get_logger().warning(f"scheduling: {self.priority}")

    def robot_topic(self, name: str) -> str:
        """Absolute name of one of the robot's topics."""
        return "/" + "/".join(part.strip("/") for part in (self.robot_namespace, name) if part.strip("/"))

    def listen(self, kind: type, topic: str, handler: Callable[[Any], None], qos: QoSProfile) -> Subscription:
        """Subscribe; a message that the handler refuses with ValueError is reported with the topic and counted."""
        return self.create_subscription(kind, topic, lambda message: self.guarded(topic, handler, message), qos)

    def listen_live(self, kind: type, topic: str, handler: Callable[[Any], None], qos: QoSProfile) -> Subscription:
        """As `listen`; in real time a message whose header stamp lies further than OUTDATED from now is refused: it is
        a recording, or its sender has another clock (field reports A34, B36)."""

        def live(message: Any) -> None:
            age = (self.get_clock().now().nanoseconds - stamp_of(message.header)) / 1e9
            if not self.lockstep and abs(age) > OUTDATED:
                raise ValueError(f"not taken: by its stamp it is {age:.3f} s old")
            handler(message)

        return self.listen(kind, topic, live, qos)

    def guarded(self, topic: str, handler: Callable[..., None], *arguments: Any) -> None:
        """Call the handler of a topic's message; what it refuses with ValueError is reported and counted."""
        self.traffic.came(topic)
        try:
            handler(*arguments)
        except ValueError as error:
            self.refused[topic] += 1
            self.traffic.refused(topic)
            self.get_logger().error(f"{topic}: {error}", throttle_duration_sec=1.0)

    def every(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """A timer on the steady clock: with a stopped /clock a timer on ROS time would never fire."""
        return self.create_timer(seconds, callback, clock=self._steady)

    def finish(self, code: int) -> None:
        """End the process with an exit code after the current callback."""
        self.exit_code = code

    def begin(self) -> None:
        """Called once when the executor is ready."""

    def close(self) -> None:
        """Called once before the node is destroyed: stop threads, close files, leave the arm held."""


class ManagedNode(BaseNode, LifecycleNode):
    """A lifecycle node: `setup` loads and connects, `start` and `stop` frame the time in which it acts."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.active = False
        self.autostart = declare(self, "autostart", True, "Configure and activate at start without being asked.")

    def setup(self) -> None:
        """Load what the node needs and create its topics. A ValueError, OSError or RuntimeError fails the
        transition and is said."""

    def start(self) -> None:
        """Begin to act."""

    def stop(self) -> None:
        """Cease to act."""

    def begin(self) -> None:
        if not self.autostart:
            return
        for step in (self.trigger_configure, self.trigger_activate):
            if step() != TransitionCallbackReturn.SUCCESS:
                self.finish(1)
                return

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._attempt(self.setup, "configure")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        super().on_activate(state)
        self.active = True
        return self._attempt(self.start, "activate")

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self.active = False
        super().on_deactivate(state)
        return self._attempt(self.stop, "deactivate")

    def _attempt(self, action: Callable[[], None], name: str) -> TransitionCallbackReturn:
        try:
            action()
        except (ValueError, OSError, ImportError, RuntimeError) as error:
            # What gets past here is swallowed by rclpy: a refusal that nobody would see.
            self.get_logger().fatal(f"cannot {name}: {error}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        if self.active:
            self.active = False
            self.stop()


def run(make: Callable[[], BaseNode]) -> None:
    """Run a node until it ends, or SIGINT or SIGTERM comes; ends the process with the node's exit code.

    A Ctrl-C reaches a node twice, from the terminal and from launch: the second one must not interrupt the clean-up,
    so the handlers stay and only the first signal has an effect.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    removed = remove_half_made()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    if removed:
        names = ", ".join(str(path) for path in removed)
        rclpy.logging.get_logger("rlt_ros").warning(f"removed what killed processes left half made: {names}")
    code = _spin(make, stop)
    rclpy.try_shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is closed by now. Taking the interpreter down with torch and DDS inside can outlast launch's patience.
    os._exit(code)


def _spin(make: Callable[[], BaseNode], stop: threading.Event) -> int:
    try:
        node = make()
    except (ValueError, OSError, ImportError) as error:
        rclpy.logging.get_logger("rlt_ros").fatal(str(error))
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        node.begin()
        while not stop.is_set() and node.exit_code is None:
            executor.spin_once(timeout_sec=0.1)
    except Exception:
        node.get_logger().fatal(traceback.format_exc())
        node.finish(1)
    finally:
        node.close()
        executor.shutdown()
        node.destroy_node()
    return node.exit_code or 0
