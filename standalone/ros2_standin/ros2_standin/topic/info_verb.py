"""Print information about a topic."""

from __future__ import annotations

import argparse

from ..graph import add_node_arguments, open_node, topics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_node_arguments(parser)
    parser.add_argument("topic_name", help="name of the topic, such as /chatter")
    parser.add_argument("-v", "--verbose", action="store_true", help="nodes, type hashes and QoS, too")


def main(args: argparse.Namespace) -> str | None:
    """Say who publishes a topic and who hears it."""
    with open_node(args) as node:
        types = topics(node, include_hidden=True).get(args.topic_name)
        if types is None:
            return f"Unknown topic '{args.topic_name}'"
        end = "\n\n" if args.verbose else "\n"
        print(f"Type: {types[0] if len(types) == 1 else types}", end=end)
        print(f"Publisher count: {node.count_publishers(args.topic_name)}", end=end)
        if args.verbose:
            print(*node.get_publishers_info_by_topic(args.topic_name), sep=end, end=end)
        print(f"Subscription count: {node.count_subscribers(args.topic_name)}", end=end)
        if args.verbose:
            print(*node.get_subscriptions_info_by_topic(args.topic_name), sep=end, end=end)
    return None
