"""Output a list of available parameters."""

from __future__ import annotations

import argparse
import re

from rclpy.node import Node

from ..graph import absolute, add_node_arguments, node_names, open_node
from .remote import TYPES, answer, client_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_node_arguments(parser)
    add = parser.add_argument
    add("node_name", nargs="?", help="name of the ROS node; default: all")
    add("--filter", default="", help="only parameters that match this regular expression")
    add("--include-hidden-nodes", action="store_true", help="consider hidden nodes as well")
    add("--param-prefixes", nargs="+", default=[], help="only parameters with these prefixes")
    add("--param-type", action="store_true", help="print parameter types with parameter names")


def main(args: argparse.Namespace) -> str | None:
    """List the parameters of one node, or of all."""
    with open_node(args) as node:
        names = node_names(node, args.include_hidden_nodes)
        if args.node_name:
            if absolute(args.node_name) not in names:
                return "Node not found"
            names = [absolute(args.node_name)]
        for name in names:
            try:
                lines = _lines(node, name, args)
            except RuntimeError as error:
                print(error)
                continue
            print(*([f"{name}:"] if lines and not args.node_name else []), *lines, sep="\n", end="\n" if lines else "")
    return None


def _lines(node: Node, name: str, args: argparse.Namespace) -> list[str]:
    client = client_of(node, name)
    found = answer(node, client.list_parameters(args.param_prefixes), name).result.names
    found = [parameter for parameter in sorted(found) if re.match(args.filter, parameter)]
    if not args.param_type:
        return [f"  {parameter}" for parameter in found]
    types = answer(node, client.describe_parameters(found), name).descriptors
    return [f"  {descriptor.name} (type: {TYPES[descriptor.type][0]})" for descriptor in types]
