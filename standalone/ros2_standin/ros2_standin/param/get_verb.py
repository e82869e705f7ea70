"""Get a parameter."""

from __future__ import annotations

import argparse
import array

from .remote import TYPES, add_remote_arguments, answer, remote


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_remote_arguments(parser)
    parser.add_argument("parameter_name", help="name of the parameter")
    parser.add_argument("--hide-type", action="store_true", help="hide the type information")


def main(args: argparse.Namespace) -> str | None:
    """Print the value."""
    with remote(args) as (node, client):
        values = answer(node, client.get_parameters([args.parameter_name]), args.node_name).values
    if not values:
        return "Parameter not set"
    _, label, field = TYPES[values[0].type]
    value = getattr(values[0], field) if field else None
    value = value.tolist() if isinstance(value, array.array) else value
    print(*([value] if args.hide_type else [label, value] if field else [label]))
    return None
