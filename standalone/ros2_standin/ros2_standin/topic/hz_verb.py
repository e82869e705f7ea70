"""Print the average publishing rate of topics."""

from __future__ import annotations

import argparse
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

from ..graph import add_node_arguments, open_node
from ..interfaces import class_of
from ..number_types import positive_int

WINDOW = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add = parser.add_argument
    add("topic_name", nargs="+", help="names of the topics, such as /chatter")
    add("-w", "--window", dest="window_size", type=positive_int, default=WINDOW, help="messages (default: %(default)d)")
    add("--filter", dest="filter_expr", metavar="EXPR", help="only measure messages m for which this Python is true")
    add("--wall-time", dest="use_wtime", action="store_true", help="rate by wall time, where no clock is published")
    add_node_arguments(parser)


def main(args: argparse.Namespace) -> None:
    """Print rates once a second until Ctrl-C."""
    keep = eval(f"lambda m: {args.filter_expr}") if args.filter_expr else None
    with open_node(args) as node:
        clock = Clock(clock_type=ClockType.SYSTEM_TIME) if args.use_wtime else node.get_clock()
        rates = {topic: Rate(args.window_size) for topic in args.topic_name}
        for topic, rate in rates.items():
            node.create_subscription(_awaited(node, topic), topic, _counter(rate, clock, keep), qos_profile_sensor_data)
            if len(rates) > 1:
                print(f"Subscribed to [{topic}]")
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0, lambda: _print(rates), clock=wall)
        rclpy.spin(node)


class Rate:
    """Intervals between messages, in the newest so many of them."""

    def __init__(self, window: int) -> None:
        self._intervals: deque[int] = deque(maxlen=window)
        self._last: int | None = None
        self._fresh = False

    def add(self, now: int) -> None:
        """A message came; ns. Time that goes back begins anew."""
        if now == 0 or (self._last is not None and now < self._last):
            if self._intervals:
                print("time has reset, resetting counters")
            self._intervals.clear()
            self._last = now or None
            return
        if self._last is not None:
            self._intervals.append(now - self._last)
            self._fresh = True
        self._last = now

    def figures(self) -> tuple[float, float, float, float, int] | None:
        """Rate (Hz), smallest and largest interval, their standard deviation (s), window; None without news."""
        if not self._fresh:
            return None
        self._fresh = False
        n = len(self._intervals)
        mean = sum(self._intervals) / n
        deviation = math.sqrt(sum((x - mean) ** 2 for x in self._intervals) / n)
        rate = 1e9 / mean if mean else 0.0
        return rate, min(self._intervals) * 1e-9, max(self._intervals) * 1e-9, deviation * 1e-9, n


def _awaited(node: Node, topic: str) -> Any:
    kind = class_of(node, topic)
    if kind is None:
        print(f"WARNING: topic [{topic}] does not appear to be published yet")
    while kind is None:
        rclpy.spin_once(node, timeout_sec=0.1)
        kind = class_of(node, topic)
    return kind


def _counter(rate: Rate, clock: Any, keep: Callable[[Any], bool] | None) -> Callable[[Any], None]:
    def received(message: Any) -> None:
        if keep is None or keep(message):
            rate.add(clock.now().nanoseconds)

    return received


def _print(rates: dict[str, Rate]) -> None:
    found = {topic: figures for topic, rate in rates.items() if (figures := rate.figures())}
    if len(rates) > 1 and found:
        print(table([[t, *(f"{x:.3f}" for x in f[:3]), f"{f[3]:.5f}", str(f[4])] for t, f in found.items()]))
    elif found:
        ((rate, low, high, deviation, window),) = found.values()
        print(f"average rate: {rate:.3f}")
        print(f"\tmin: {low:.3f}s max: {high:.3f}s std dev: {deviation:.5f}s window: {window}")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of several topics under a header."""
    header = ["topic", "rate", "min_delta", "max_delta", "std_dev", "window"]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ["   ".join(name.center(width) for name, width in zip(header, widths, strict=True))]
    lines.append("=" * (sum(widths) + 3 * (len(header) - 1)))
    lines += ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines) + "\n"
