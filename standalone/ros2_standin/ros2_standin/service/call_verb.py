"""Call a service."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import rclpy
import yaml
from rclpy.node import Node

from ..graph import HIDDEN_NAME, open_node, spin
from ..interfaces import interface
from ..number_types import positive_float
from ..values import fill


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add = parser.add_argument
    add("service_name", help="name of the service, such as /add_two_ints")
    add("service_type", help="type of the service, such as std_srvs/srv/Empty")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("values", nargs="?", default="{}", help="request in YAML, such as '{a: 1, b: 2}'")
    group.add_argument("--stdin", action="store_true", help="read the values from standard input")
    add("-r", "--rate", metavar="N", type=positive_float, help="repeat the call at a rate in Hz")


def main(args: argparse.Namespace) -> str | None:
    """Call once, or at a rate until Ctrl-C."""
    kind = interface(args.service_type, "srv")
    if not hasattr(kind, "Request"):
        raise RuntimeError("The passed type is not a service")
    request = kind.Request()
    try:
        fill(request, yaml.safe_load(sys.stdin.read() if args.stdin else args.values))
    except (AttributeError, TypeError, ValueError, AssertionError, yaml.YAMLError) as error:
        return f"Failed to populate field: {error}"
    args.spin_time = 0.0
    package, name = args.service_type.split("/")[0], args.service_type.split("/")[-1]
    with open_node(args, f"{HIDDEN_NAME}_requester_{package}_{name}") as node:
        _call(node, node.create_client(kind, args.service_name), request, 1.0 / args.rate if args.rate else None)
    return None


def _call(node: Node, client: Any, request: Any, period: float | None) -> None:
    if not client.service_is_ready():
        print("waiting for service to become available...")
        while not client.service_is_ready():
            spin(node, 0.1)
    while True:
        print(f"requester: making request: {request!r}\n")
        began = time.monotonic()
        future = client.call_async(request)
        rclpy.spin_until_future_complete(node, future)
        print(f"response:\n{future.result()!r}\n")
        if period is None:
            return
        spin(node, began + period - time.monotonic())
