"""Output a list of available topics."""

from __future__ import annotations

import argparse

from rclpy.node import Node

from ..graph import add_node_arguments, open_node, topics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_node_arguments(parser)
    add = parser.add_argument
    add("-t", "--show-types", action="store_true", help="additionally show the topic type")
    add("-c", "--count-topics", action="store_true", help="only display the number of topics discovered")
    add("--include-hidden-topics", action="store_true", help="consider hidden topics as well")
    add("-v", "--verbose", action="store_true", help="list full details about each topic")


def main(args: argparse.Namespace) -> None:
    """List the topics."""
    with open_node(args) as node:
        found = topics(node, args.include_hidden_topics)
        if args.count_topics:
            print(len(found))
        elif args.verbose and found:
            print(_counted("Published", "publisher", found, node))
            print(_counted("Subscribed", "subscriber", found, node))
        elif found:
            lines = (f"{name} [{', '.join(types)}]" if args.show_types else name for name, types in found.items())
            print(*lines, sep="\n")


def _counted(title: str, what: str, found: dict[str, list[str]], node: Node) -> str:
    count_of = node.count_publishers if what == "publisher" else node.count_subscribers
    text = f"{title} topics:\n"
    for name, types in found.items():
        if count := count_of(name):
            text += f" * {name} [{', '.join(types)}] {count} {what}{'s' if count > 1 else ''}\n"
    return text
