"""What two machines know of each other: who answers, how fast, whose clock is how far off."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlt_ros import msg
from rlt_ros.loop.skew import Exchange, Skew, SkewEstimator
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import header, stamp_of
from rlt_ros.nodes.diagnostics import ERROR, OK, WARN, Diagnostics
from rlt_ros.nodes.parameters import declare
from rlt_ros.ranges import Amount, Figure

if TYPE_CHECKING:
    from rlt_ros.nodes.runtime import BaseNode

HOST = socket.gethostname()
AWAY_AFTER = 5.0
"""Seconds without an answer after which a node counts as away: one cut of the cable may be over by then."""


class ClockReader:
    """The system clock, with an error put in on request.

    The error is there to try out what is said about a clock that is off; nothing else reads this clock.
    """

    def __init__(self, node: BaseNode) -> None:
        text = "Seconds added to this machine's clock in the exchange with others, to try what is said about skew."
        self._error = round(1e9 * declare(node, "clock_error", 0.0, text, Figure))

    def __call__(self) -> int:
        """Now [ns]."""
        return time.time_ns() + self._error


class LinkAnswer:
    """Answers exchanges of clock readings. robots: namespaces whose actors may ask; contract: of this node."""

    def __init__(self, node: BaseNode, robots: tuple[str, ...], contract: str) -> None:
        self._node, self._clock, self._contract = node, ClockReader(node), contract
        for robot in robots:
            self._serve(f"/{robot}" if robot else "")

    def _serve(self, prefix: str) -> None:
        replies = self._node.create_publisher(msg.ClockExchange, f"{prefix}/clock_reply", qos.STATS)

        def answer(request: msg.ClockExchange) -> None:
            received = self._clock()
            reply = leg(self._node, request.id, self._contract)
            reply.requested, reply.received = stamp_of(request.header), received
            reply.header = header(self._clock())
            replies.publish(reply)

        self._node.listen(msg.ClockExchange, f"{prefix}/clock_request", answer, qos.STATS)


def leg(node: BaseNode, number: int, contract: str) -> msg.ClockExchange:
    """An exchange's message without its times."""
    name = node.get_fully_qualified_name()
    return msg.ClockExchange(id=int(number), node=name, host=HOST, contract=contract, lockstep=bool(node.lockstep))


@dataclass
class Peer:
    """answered: seconds of the steady clock. fault: in what it does not fit, empty if it does."""

    host: str
    estimator: SkewEstimator = field(default_factory=SkewEstimator)
    answered: float = 0.0
    request: int = 0
    fault: str = ""
    away: bool = False


class LinkWatch:
    """Asks once a second, warns of a clock that is off, of a node that does not fit and of one that is away.

    expected: names of nodes without which there is something to wait for. Publishes `link_stats` and diagnostics.
    """

    def __init__(self, node: BaseNode, contract: str, expected: tuple[str, ...]) -> None:
        self._node, self._contract, self._expected = node, contract, expected
        self._limit = declare(
            node, "clock_skew_limit", 0.05, "Seconds between two machines' clocks that are warned of.", Amount
        )
        self._clock = ClockReader(node)
        self._peers: dict[str, Peer] = {}
        self._requests = node.create_publisher(msg.ClockExchange, "clock_request", qos.STATS)
        self._stats = node.create_publisher(msg.LinkStats, "link_stats", qos.STATS)
        self._diagnostics = Diagnostics(node)
        self._number, self._begun = 0, time.monotonic()
        node.listen(msg.ClockExchange, "clock_reply", self._on_reply, qos.STATS)
        node.every(1.0, self._on_second)

    def _on_second(self) -> None:
        self._report()
        self._number += 1
        request = leg(self._node, self._number, self._contract)
        request.header = header(self._clock())
        self._requests.publish(request)

    def _on_reply(self, reply: msg.ClockExchange) -> None:
        returned, now = self._clock(), time.monotonic()
        peer = self._peers.get(reply.node)
        if peer is None or peer.host != reply.host:
            peer = self._peers[reply.node] = Peer(reply.host)
            self._log().info(f"{reply.node} on {reply.host} is here")
        peer.answered, peer.request = now, reply.id
        self._compare(peer, reply)
        steps = peer.estimator.steps
        peer.estimator.add(Exchange(reply.requested, reply.received, stamp_of(reply.header), returned), now)
        if peer.estimator.steps > steps:
            self._log().warning(f"the clock of {reply.host} or of {HOST} was set while we were running")

    def _compare(self, peer: Peer, reply: msg.ClockExchange) -> None:
        fault = ""
        if reply.contract != self._contract:
            fault = (
                f"its Stage-1 contract is {reply.contract}, ours {self._contract}: give both sides the same checkpoint"
            )
        elif reply.lockstep != self._node.lockstep:
            fault = f"lockstep is {reply.lockstep} there and {self._node.lockstep} here: give both sides the same"
        if fault and fault != peer.fault:
            self._log().error(f"{reply.node} on {reply.host} does not fit: {fault}")
        peer.fault = fault

    def _report(self) -> None:
        now = time.monotonic()
        for name, peer in self._peers.items():
            self._tell_whether_away(name, peer, now)
            skew = peer.estimator.at(now)
            if skew is None:
                continue
            if self._is_off(skew):
                self._log().warning(self._skew_text(peer, skew), throttle_duration_sec=30.0)
            self._publish(name, peer, skew, now)
        self._diagnostics.publish()
        self._tell_what_is_awaited(now)

    def _is_off(self, skew: Skew) -> bool:
        # Not while the link is too slow to say.
        return abs(skew.offset) - skew.uncertainty > self._limit

    def _skew_text(self, peer: Peer, skew: Skew) -> str:
        ahead = "ahead of" if skew.offset > 0.0 else "behind"
        return (
            f"the clock of {peer.host} is {1e3 * abs(skew.offset):.1f} ms {ahead} that of {HOST} "
            f"(+-{1e3 * skew.uncertainty:.1f} ms); limit {1e3 * self._limit:g} ms: is chrony running on both?"
        )

    def _tell_whether_away(self, name: str, peer: Peer, now: float) -> None:
        away = now - peer.answered > AWAY_AFTER
        if away and not peer.away:
            self._log().warning(f"no answer from {name} on {peer.host} for {now - peer.answered:.0f} s")
        elif peer.away and not away:
            self._log().info(f"{name} on {peer.host} answers again")
        peer.away = away

    def _tell_what_is_awaited(self, now: float) -> None:
        known = {name.rpartition("/")[2] for name in self._peers}
        awaited = [name for name in self._expected if name not in known]
        if awaited and now - self._begun > AWAY_AFTER:
            self._log().info(f"waiting for {' and '.join(awaited)}", throttle_duration_sec=10.0)

    def _log(self):  # noqa: ANN202 - rclpy's logger
        return self._node.get_logger()

    def _publish(self, name: str, peer: Peer, skew: Skew, now: float) -> None:
        stamp = header(self._node.get_clock().now().nanoseconds)
        figures = {
            "clock_offset": float(skew.offset),
            "clock_uncertainty": float(skew.uncertainty),
            "round_trip": float(skew.round_trip),
            "silence": float(now - peer.answered),
        }
        unanswered = int(self._number - peer.request)
        self._stats.publish(msg.LinkStats(header=stamp, node=name, host=peer.host, unanswered=unanswered, **figures))
        shown = {f"{key} [s]": f"{value:.6f}" for key, value in figures.items()}
        self._diagnostics.set(f"link to {name}", *self._judge(peer, skew), host=peer.host, **shown)

    def _judge(self, peer: Peer, skew: Skew) -> tuple[bytes, str]:
        if peer.fault:
            return ERROR, peer.fault
        if peer.away:
            return ERROR, "no answer"
        if self._is_off(skew):
            return WARN, self._skew_text(peer, skew)
        return OK, "answers"
