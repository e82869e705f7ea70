"""The recorder: a node that subscribes to what it is to record as soon as somebody publishes it."""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions

from ..interfaces import interface
from ..qos import POLICIES, adapted
from .backlog import Backlog, Received
from .bag_writer import BagWriter
from .definitions import definition, installed_hash
from .metadata import Topic
from .selection import Selection

DEPTH = 100
"""Of a subscription without an override: a busy recorder must not lose what others send in the meantime."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Options:
    """What is recorded. overrides: profiles by topic. poll: seconds between looks for new topics, 0 for one look."""

    selection: Selection
    overrides: dict[str, QoSProfile] = field(default_factory=dict)
    poll: float = 0.1
    unpublished: bool = False
    ignore_leaves: bool = False
    use_sim_time: bool = False
    cache_bytes: int = 100 * 2**20
    node_name: str = "rosbag2_recorder"


def record(writer: BagWriter, options: Options) -> int:
    """Record until SIGINT, SIGTERM or SIGHUP, or until the disk refuses; returns the exit code."""
    ended = threading.Event()
    previous = {number: signal.signal(number, lambda *_: ended.set()) for number in _SIGNALS}
    try:
        with rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO):
            return _Recorder(writer, options, ended).run()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Recorder:
    def __init__(self, writer: BagWriter, options: Options, ended: threading.Event) -> None:
        self._options, self._ended = options, ended
        self._node = rclpy.create_node(
            options.node_name,
            start_parameter_services=False,
            parameter_overrides=[Parameter("use_sim_time", value=options.use_sim_time)],
        )
        self._log = self._node.get_logger()
        self._writer = writer
        self._failure: OSError | None = None
        self._backlog = Backlog(writer, options.cache_bytes, self._on_failure)
        self._known: set[str] = set()

    def run(self) -> int:
        """Receive until the end, then write what is left."""
        executor = SingleThreadedExecutor()
        executor.add_node(self._node)
        self._log.info("Listening for topics...")
        self._discover()
        if self._options.poll:
            self._node.create_timer(self._options.poll, self._discover)
        self._log.info("Recording...")
        while not self._ended.is_set():
            executor.spin_once(timeout_sec=0.1)
        return self._finish()

    def _finish(self) -> int:
        self._node.destroy_node()
        self._backlog.close()
        try:
            lost = self._writer.close()
            if lost:
                self._failure = self._failure or OSError(errno.ENOSPC, "the disk is full")
                self._log.error(f"the disk had no room for the last {lost} messages")
        except OSError as error:
            self._failure = self._failure or error
            self._log.error(f"the bag could not be ended: {error}; `ros2 bag reindex` mends it once there is room")
        for topic, count in sorted(self._backlog.dropped.items()):
            self._log.warning(f"{count} messages of {topic} were not written: they came faster than the disk took them")
        self._log.info(f"Recording stopped, {self._writer.count} messages")
        return 1 if self._failure else 0

    def _on_failure(self, error: OSError) -> None:
        # In the writer's thread.
        self._failure = error
        self._log.error(f"recording ends, the disk refuses: {error}")
        self._ended.set()

    # discovery

    def _discover(self) -> None:
        for topic, types in self._node.get_topic_names_and_types():
            if topic in self._known or not self._options.selection.takes(topic, types):
                continue
            publishers = self._node.get_publishers_info_by_topic(topic)
            if not publishers and not self._options.unpublished:
                continue
            if self._options.ignore_leaves and not self._node.get_subscriptions_info_by_topic(topic):
                continue
            self._known.add(topic)
            self._subscribe(topic, types[0], publishers)

    def _subscribe(self, topic: str, kind: str, publishers: list[Any]) -> None:
        try:
            message_class = interface(kind, "msg")
        except RuntimeError as error:
            self._log.warning(f"{topic} is not recorded: {error}")
            return
        if not definition(kind):
            self._log.warning(f"no definition of {kind} is installed: {topic} is recorded without one")
        digest = str(publishers[0].topic_type_hash) if publishers else ""
        digest = digest if digest.startswith("RIHS01_") else installed_hash(kind)
        offered = [_plain(publisher.qos_profile) for publisher in publishers]
        self._backlog.announce(Topic(topic, kind, _distinct(offered), digest))
        profile = self._options.overrides.get(topic) or adapted(QoSProfile(depth=DEPTH), publishers, self._log.warning)
        self._node.create_subscription(message_class, topic, self._receiver(topic), profile, raw=True)
        self._log.info(f"Subscribed to topic '{topic}'")

    def _receiver(self, topic: str) -> Callable[[bytes, dict[str, int]], None]:
        newest = 0

        def received(data: bytes, info: dict[str, int]) -> None:
            nonlocal newest
            # A message that DDS had to ask for again comes in its place, but was received after those behind it.
            stamp = newest = max(newest, info.get("received_timestamp", 0))
            if self._options.use_sim_time or stamp <= 0:
                stamp = self._node.get_clock().now().nanoseconds
            if stamp > 0:  # simulated time that has not begun
                number = info.get("publication_sequence_number") or 0
                self._backlog.put(Received(topic, data, stamp, max(0, info.get("source_timestamp", 0)), number))

        return received


def _distinct(profiles: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [profile for place, profile in enumerate(profiles) if profile not in profiles[:place]]


def _plain(profile: QoSProfile) -> dict[str, Any]:
    """A profile as it stands in a bag's metadata."""

    def policy(name: str) -> str:
        return getattr(profile, name).short_key if getattr(profile, name) in POLICIES[name] else "unknown"

    def duration(name: str) -> dict[str, int]:
        seconds, nanoseconds = divmod(getattr(profile, name).nanoseconds, 1_000_000_000)
        return {"sec": seconds, "nsec": nanoseconds}

    return {
        "history": policy("history"),
        "depth": profile.depth,
        "reliability": policy("reliability"),
        "durability": policy("durability"),
        "deadline": duration("deadline"),
        "lifespan": duration("lifespan"),
        "liveliness": policy("liveliness"),
        "liveliness_lease_duration": duration("liveliness_lease_duration"),
        "avoid_ros_namespace_conventions": profile.avoid_ros_namespace_conventions,
    }
