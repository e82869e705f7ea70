"""Set a parameter."""

from __future__ import annotations

import argparse
import sys

from rcl_interfaces.msg import Parameter
from rclpy.parameter import get_parameter_value

from .remote import add_remote_arguments, answer, remote


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_name", help="name of the parameter")
    parser.add_argument("value", help="its new value, in YAML")


def main(args: argparse.Namespace) -> None:
    """Set the value and say whether the node took it."""
    parameter = Parameter(name=args.parameter_name, value=get_parameter_value(args.value))
    with remote(args) as (node, client):
        (result,) = answer(node, client.set_parameters([parameter]), args.node_name).results
    reason = f": {result.reason}" if result.reason else ""
    if result.successful:
        print(f"Set parameter successful{reason}")
    else:
        print(f"Setting parameter failed{reason}", file=sys.stderr)
