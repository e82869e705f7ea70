"""A short-lived node that looks at the graph."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rclpy
from rclpy.node import HIDDEN_NODE_PREFIX, Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

SPIN_TIME = 0.5
"""Seconds that a node looks around before it says what there is."""
STILL, PATIENCE = 0.5, 5.0
"""Seconds without anything new after which it goes no further, and after which it does so in any case: there is no
daemon that has looked around before, and on a busy machine a node is found later than another."""
HIDDEN_NAME = f"{HIDDEN_NODE_PREFIX}ros2cli"


def add_node_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of every verb that looks at the graph."""
    parser.add_argument(
        "--spin-time", type=float, default=SPIN_TIME, help="seconds to wait for discovery (default: %(default)s)"
    )
    parser.add_argument("-s", "--use-sim-time", action="store_true", help="enable ROS simulation time")
    parser.add_argument("--no-daemon", action="store_true", help="accepted; there is no daemon here")


@contextmanager
def open_node(args: argparse.Namespace, name: str = "") -> Iterator[Node]:
    """A node that has looked around for `--spin-time`. Ctrl-C stays Python's."""
    with rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO):
        node = rclpy.create_node(
            name or f"{HIDDEN_NAME}_{os.getpid()}",
            start_parameter_services=False,
            enable_rosout=False,
            parameter_overrides=[Parameter("use_sim_time", value=getattr(args, "use_sim_time", False))],
        )
        look_around(node, getattr(args, "spin_time", SPIN_TIME))
        yield node
        node.destroy_node()


def look_around(node: Node, seconds: float) -> None:
    """Work off what comes for a time, and on for as long as more of the graph turns up."""
    spin(node, seconds)
    end, seen, since = time.monotonic() + PATIENCE, _sights(node), time.monotonic()
    while seconds > 0 and time.monotonic() < min(end, since + STILL):
        spin(node, 0.05)
        if (now := _sights(node)) != seen:
            seen, since = now, time.monotonic()


def _sights(node: Node) -> tuple[int, int]:
    return len(node.get_node_names()), len(node.get_topic_names_and_types())


def spin(node: Node, seconds: float) -> None:
    """Work off what comes for a time."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        rclpy.spin_once(node, timeout_sec=left)


def wait_for(node: Node, condition: Callable[[], bool], seconds: float) -> bool:
    """Work off what comes until the condition holds; whether it does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return condition()
        rclpy.spin_once(node, timeout_sec=0.05)
    return True


def hidden(name: str) -> bool:
    """Whether a name is one of ROS's own."""
    return any(part.startswith(HIDDEN_NODE_PREFIX) for part in name.split("/"))


def topics(node: Node, include_hidden: bool = False) -> dict[str, list[str]]:
    """Names of topics with their types."""
    found = sorted(node.get_topic_names_and_types())
    return {name: types for name, types in found if include_hidden or not hidden(name)}


def node_names(node: Node, include_hidden: bool = False) -> list[str]:
    """Full names, sorted, doubles included."""
    found = [(name, f"{space.rstrip('/')}/{name}") for name, space in node.get_node_names_and_namespaces()]
    return sorted(full for name, full in found if include_hidden or (name and not hidden(name)))


def absolute(name: str) -> str:
    """A node's name with its slash."""
    return name if name.startswith("/") else f"/{name}"
