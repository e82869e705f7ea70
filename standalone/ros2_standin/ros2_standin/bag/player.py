"""Publishes the messages of a bag at their times."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosbags.rosbag2 import Reader
from rosgraph_msgs.msg import Clock

from ..interfaces import interface
from ..qos import POLICIES
from .definitions import difference, installed_hash
from .playlist import NANOSECONDS, Playlist

DEPTH = 100
KNOWN = ("reliable", "best_effort", "transient_local", "volatile")
ACKNOWLEDGED = 2.0
"""Seconds at the end in which the last messages may still be on their way."""


@dataclass(frozen=True)
class Options:
    """How a bag is played. clock: Hz of /clock, 0 for none. clock_topics: topics before whose messages /clock is told,
    None for all of them. acknowledged: seconds to wait at the end.
    """

    rate: float = 1.0
    loop: bool = False
    clock: float = 0.0
    clock_topics: Collection[str] | None = ()
    delay: float = 0.0
    remap: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, QoSProfile] = field(default_factory=dict)
    acknowledged: float = ACKNOWLEDGED


class Player:
    """Plays what can be played here: a topic whose type is not installed, or is another one here than in the bag, is
    left out and named.
    """

    def __init__(self, node: Node, reader: Reader, options: Options, ended: threading.Event) -> None:
        self._node, self._reader, self._options, self._ended = node, reader, options, ended
        self._log = node.get_logger()
        self._publishers: dict[str, Any] = {}
        self._clock = node.create_publisher(Clock, "/clock", 10) if self._has_clock else None

    @property
    def _has_clock(self) -> bool:
        return self._options.clock > 0 or self._options.clock_topics is None or bool(self._options.clock_topics)

    def prepare(self, connections: Collection[Any]) -> list[Any]:
        """Publishers for these topics; returns those that can be played."""
        playable = [connection for connection in connections if self._publisher(connection)]
        return playable

    def play(self, playlist: Playlist) -> None:
        """Play to the end, or for ever with `loop`."""
        for _ in itertools.count() if self._options.loop else range(1):
            self._ended.wait(self._options.delay)
            if self._ended.is_set():
                break
            self._once(playlist)
            self._report(playlist)
        for publisher in self._publishers.values():
            if not self._ended.is_set():
                publisher.wait_for_all_acked(Duration(seconds=self._options.acknowledged))

    def _once(self, playlist: Playlist) -> None:
        pace: _Pace | None = None
        for connection, stamp, data in playlist.messages(self._reader):
            pace = pace or _Pace(stamp, self._options.rate, self._options.clock)
            while (tick := pace.tick_before(stamp)) is not None:
                self._wait(pace.wall(tick))
                self._tell_time(tick)
            self._wait(pace.wall(stamp))
            if self._ended.is_set():
                return
            topics = self._options.clock_topics
            if topics is None or connection.topic in topics:
                self._tell_time(stamp)
            self._publishers[connection.topic].publish(data)

    def _wait(self, until: float) -> None:
        left = until - time.monotonic()
        if left > 0:
            self._ended.wait(left)

    def _tell_time(self, stamp: int) -> None:
        if self._clock is not None and not self._ended.is_set():
            self._clock.publish(Clock(clock=Time(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)))

    def _report(self, playlist: Playlist) -> None:
        for topic, count in sorted(playlist.absurd.items()):
            self._log.warning(f"{count} messages of {topic} left out: their stamps are days off those around them")
        if not self._ended.is_set():
            for topic, count in sorted(playlist.unread.items()):
                self._log.warning(f"{count} messages of {topic} are in the bag but cannot be read: absurd stamps?")

    # publishers

    def _publisher(self, connection: Any) -> bool:
        topic = connection.topic
        if topic in self._publishers:
            return True
        try:
            kind = interface(connection.msgtype, "msg")
        except RuntimeError:
            self._log.error(f"{topic} is not played: its type {connection.msgtype} is not installed here")
            return False
        here = installed_hash(connection.msgtype)
        if here and connection.digest and here != connection.digest:
            fields = difference(connection.msgtype, connection.msgdef.data)
            self._log.error(
                f"{topic} is not played: {connection.msgtype} in the bag is {connection.digest}, here it is {here}"
                + (f": {fields}" if fields else "")
            )
            return False
        name = self._options.remap.get(topic, topic)
        self._publishers[topic] = self._node.create_publisher(kind, name, self._profile(connection))
        return True

    def _profile(self, connection: Any) -> QoSProfile:
        """The override, or what the recorded publishers offered, where they agreed."""
        override = self._options.overrides.get(connection.topic)
        if override is not None:
            return override
        offered = [_offer(qos) for qos in connection.ext.offered_qos_profiles]
        if not offered:
            return QoSProfile(depth=DEPTH)
        agreed = all(o.reliability == offered[0].reliability and o.durability == offered[0].durability for o in offered)
        if not agreed:
            self._log.warning(f"publishers of {connection.topic} offered different QoS: played with the default")
            return QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
        return offered[0]


class _Pace:
    """When a moment of the bag is due. start: ns, the first message's stamp, due now."""

    def __init__(self, start: int, rate: float, clock: float) -> None:
        self._start, self._rate, self._began = start, rate, time.monotonic()
        self._period = int(rate * NANOSECONDS / clock) if clock else 0
        self._tick = start

    def wall(self, stamp: int) -> float:
        """Steady seconds at which it is due."""
        return self._began + (stamp - self._start) / (self._rate * NANOSECONDS)

    def tick_before(self, stamp: int) -> int | None:
        """The next moment, ns, that /clock is to tell before a message."""
        if not self._period or self._tick > stamp:
            return None
        tick, self._tick = self._tick, self._tick + self._period
        return tick


def _offer(qos: Any) -> QoSProfile:
    """A recorded profile as one to publish with: what decides who can listen. History is not told over DDS, and
    deadlines and leases are the business of who is there now.
    """
    profile = QoSProfile(depth=qos.depth or DEPTH)
    for name in ("reliability", "durability"):
        word = getattr(qos, name).name.lower()
        if word in KNOWN:
            setattr(profile, name, POLICIES[name].get_from_short_key(word))
    return profile
