"""Output messages from a topic."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import rclpy
import yaml
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.task import Future

from ..graph import add_node_arguments, open_node
from ..interfaces import class_of, interface, publishers_of
from ..number_types import positive_float, unsigned_int
from ..qos import add_qos_arguments, chosen
from ..values import Shown, as_csv, as_yaml

TRUNCATE_LENGTH = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add_node_arguments(parser)
    add = parser.add_argument
    add("topic_name", help="name of the topic, such as /chatter")
    add("message_type", nargs="?", help="type of its messages, such as std_msgs/msg/String")
    add_qos_arguments(parser)
    add("--csv", action="store_true", help="all values of a message on one line, separated by commas")
    add("--field", help="echo a field of the message only; '.' selects sub-fields, such as pose.pose.position")
    add("-f", "--full-length", action="store_true", help="do not truncate arrays, bytes and strings")
    add("-l", "--truncate-length", type=unsigned_int, default=TRUNCATE_LENGTH, help="default: %(default)d")
    add("--no-arr", action="store_true", help="do not print arrays")
    add("--no-str", action="store_true", help="do not print strings")
    add("--flow-style", action="store_true", help="collections on one line (not with --csv)")
    add("--no-lost-messages", action="store_true", help="do not report when a message is lost")
    add("--raw", action="store_true", help="the serialized bytes")
    add("--filter", dest="filter_expr", help="Python expression of m, the message: print where it is true")
    add("--once", action="store_true", help="print the first message received and then exit")
    add("--timeout", metavar="N", type=positive_float, help="end after so many seconds")
    add("-i", "--include-message-info", action="store_true", help="print stamps and sequence numbers, too")
    add("-c", "--clear", action="store_true", help="clear the screen before each message")
    add("-n", "--node-name", default="", help="name of the echoing node; default: a hidden one")


def main(args: argparse.Namespace) -> None:
    """Print messages until the end."""
    with open_node(args, args.node_name) as node:
        kind = interface(args.message_type, "msg") if args.message_type else class_of(node, args.topic_name)
        if kind is None:
            print(f"WARNING: topic [{args.topic_name}] does not appear to be published yet")
            raise RuntimeError("Could not determine the type for the passed topic")
        profile = chosen(args, publishers_of(node, args.topic_name))
        done = Future()
        events = None if args.no_lost_messages else SubscriptionEventCallbacks(message_lost=_lost)
        node.create_subscription(
            kind, args.topic_name, _printer(args, done), profile, event_callbacks=events, raw=args.raw
        )
        rclpy.spin_until_future_complete(node, done, timeout_sec=args.timeout)
        if done.done():
            done.result()


def _printer(args: argparse.Namespace, done: Future) -> Callable[[Any, Any], None]:
    keep = eval(f"lambda m: {args.filter_expr}") if args.filter_expr else None
    shown = Shown(None if args.full_length else args.truncate_length, not args.no_arr, not args.no_str)

    def received(message: Any, info: dict[str, int]) -> None:
        if done.done():
            return
        try:
            part = _field(message, args.field)
            if keep is not None and not keep(part):
                return
            print(_text(part, info, args, shown), end="")
        except Exception as error:  # out of the callback it would be lost
            done.set_exception(error)
        else:
            if args.once:
                done.set_result(True)

    return received


def _field(message: Any, path: str | None) -> Any:
    for name in filter(None, (path or "").split(".")):
        if not hasattr(message, name):
            raise RuntimeError(f"Invalid field '{path}': {type(message).__name__!r} has no attribute {name!r}")
        message = getattr(message, name)
    return message


def _text(part: Any, info: dict[str, int], args: argparse.Namespace, shown: Shown) -> str:
    clear = "\x1b[H\x1b[2J\n" if args.clear else ""
    if not hasattr(part, "get_fields_and_field_types"):
        before = f"---Got new message, message info:---\n{info}\n---Message data:---\n"
        return clear + (before if args.include_message_info else "") + f"{part}\n---\n"
    if args.csv:
        before = "".join(f"{value}," for value in info.values()) if args.include_message_info else ""
        return f"{clear}{before}{as_csv(part, shown)}\n"
    before = f"{yaml.safe_dump(dict(info))}---\n" if args.include_message_info else ""
    return f"{clear}{before}{as_yaml(part, shown, args.flow_style)}---\n"


def _lost(status: Any) -> None:
    print(
        f"A message was lost!!!\n\ttotal count change:{status.total_count_change}\n\ttotal count: {status.total_count}",
        end="---\n",
    )
