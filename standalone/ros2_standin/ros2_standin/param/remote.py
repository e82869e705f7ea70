"""Parameters of another node, asked for through its services."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterType
from rclpy.node import Node
from rclpy.parameter_client import AsyncParameterClient

from ..graph import absolute, add_node_arguments, node_names, open_node, wait_for

TYPES = {
    ParameterType.PARAMETER_BOOL: ("boolean", "Boolean value is:", "bool_value"),
    ParameterType.PARAMETER_INTEGER: ("integer", "Integer value is:", "integer_value"),
    ParameterType.PARAMETER_DOUBLE: ("double", "Double value is:", "double_value"),
    ParameterType.PARAMETER_STRING: ("string", "String value is:", "string_value"),
    ParameterType.PARAMETER_BYTE_ARRAY: ("byte array", "Byte values are:", "byte_array_value"),
    ParameterType.PARAMETER_BOOL_ARRAY: ("boolean array", "Boolean values are:", "bool_array_value"),
    ParameterType.PARAMETER_INTEGER_ARRAY: ("integer array", "Integer values are:", "integer_array_value"),
    ParameterType.PARAMETER_DOUBLE_ARRAY: ("double array", "Double values are:", "double_array_value"),
    ParameterType.PARAMETER_STRING_ARRAY: ("string array", "String values are:", "string_array_value"),
    ParameterType.PARAMETER_NOT_SET: ("not set", "Parameter not set.", ""),
}
"""Type -> its name, how `get` introduces a value, the field that has it."""
SERVICE_WAIT = 5.0


class NodeNotFound(RuntimeError):
    """No node of that name is in the graph."""


def add_remote_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verbs that ask one node."""
    add_node_arguments(parser)
    parser.add_argument("node_name", help="name of the ROS node")
    parser.add_argument("--include-hidden-nodes", action="store_true", help="consider hidden nodes as well")
    parser.add_argument(
        "--timeout", metavar="N", type=int, default=1, help="seconds to wait for the node (default: %(default)s)"
    )


@contextmanager
def remote(args: argparse.Namespace) -> Iterator[tuple[Node, AsyncParameterClient]]:
    """The node that was named, ready to be asked. Raises NodeNotFound, RuntimeError where it does not answer."""
    name = absolute(args.node_name)
    with open_node(args) as node:
        if not wait_for(node, lambda: name in node_names(node, args.include_hidden_nodes), args.timeout):
            raise NodeNotFound("Node not found")
        yield node, client_of(node, name)


def client_of(node: Node, name: str) -> AsyncParameterClient:
    """A client of a node's parameter services. Raises RuntimeError where they are not there."""
    client = AsyncParameterClient(node, name)
    if not client.wait_for_services(timeout_sec=SERVICE_WAIT):
        raise RuntimeError(f"Wait for service timed out waiting for parameter services for node {name}")
    return client


def answer(node: Node, future: Any, name: str) -> Any:
    """What a service answered. Raises RuntimeError."""
    rclpy.spin_until_future_complete(node, future, timeout_sec=SERVICE_WAIT)
    if not future.done() or future.result() is None:
        raise RuntimeError(f"Exception while calling service of node {name}: {future.exception() or 'no answer'}")
    return future.result()
