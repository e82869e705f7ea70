"""Output a list of available services."""

from __future__ import annotations

import argparse

from ..graph import add_node_arguments, hidden, open_node


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_node_arguments(parser)
    add = parser.add_argument
    add("-t", "--show-types", action="store_true", help="additionally show the service type")
    add("-c", "--count-services", action="store_true", help="only display the number of services discovered")
    add("--include-hidden-services", action="store_true", help="consider hidden services as well")


def main(args: argparse.Namespace) -> None:
    """List the services."""
    with open_node(args) as node:
        found = sorted(node.get_service_names_and_types())
    found = [(name, types) for name, types in found if args.include_hidden_services or not hidden(name)]
    if args.count_services:
        print(len(found))
    for name, types in [] if args.count_services else found:
        print(f"{name} [{', '.join(types)}]" if args.show_types else name)
