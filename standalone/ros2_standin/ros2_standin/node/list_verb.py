"""Output a list of available nodes."""

from __future__ import annotations

import argparse
import sys

from ..graph import add_node_arguments, node_names, open_node


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_node_arguments(parser)
    parser.add_argument("-a", "--all", action="store_true", help="display all nodes, even hidden ones")
    parser.add_argument("-c", "--count-nodes", action="store_true", help="only display the number of nodes discovered")


def main(args: argparse.Namespace) -> None:
    """List the nodes."""
    with open_node(args) as node:
        names = node_names(node, args.all)
    if args.count_nodes:
        print(len(names))
        return
    if len(set(names)) < len(names):
        print(
            "WARNING: Be aware that there are nodes in the graph that share an exact name, which can have unintended "
            "side effects.",
            file=sys.stderr,
        )
    if names:
        print(*names, sep="\n")
