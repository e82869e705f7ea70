"""Show descriptive information about declared parameters."""

from __future__ import annotations

import argparse
from typing import Any

from .remote import TYPES, add_remote_arguments, answer, remote


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_names", nargs="+", help="names of the parameters")


def main(args: argparse.Namespace) -> None:
    """Print the descriptors."""
    with remote(args) as (node, client):
        found = answer(node, client.describe_parameters(args.parameter_names), args.node_name).descriptors
    for descriptor in found:
        print(text(descriptor))


def text(descriptor: Any) -> str:
    """What is known of one parameter."""
    lines = [f"Parameter name: {descriptor.name}", f"  Type: {TYPES[descriptor.type][0]}"]
    if descriptor.description:
        lines.append(f"  Description: {descriptor.description}")
    lines.append("  Constraints:")
    if descriptor.read_only:
        lines.append("    Read only: true")
    for bounds in [*descriptor.floating_point_range, *descriptor.integer_range][:1]:
        lines += [f"    Min value: {bounds.from_value}", f"    Max value: {bounds.to_value}"]
        if bounds.step:
            lines.append(f"    Step: {bounds.step}")
    if descriptor.additional_constraints:
        lines.append(f"    Additional constraints: {descriptor.additional_constraints}")
    return "\n".join(lines)
