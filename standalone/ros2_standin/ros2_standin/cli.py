"""Entry point of the command: finds the verb and maps its outcome to an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS: dict[str, dict[str, str]] = {
    "bag": {verb: f"bag.{verb}_verb" for verb in ("info", "play", "record", "reindex")},
    "launch": {"": "launch_verb"},
    "node": {"list": "node.list_verb"},
    "param": {verb: f"param.{verb}_verb" for verb in ("describe", "get", "list", "set")},
    "run": {"": "run_verb"},
    "service": {verb: f"service.{verb}_verb" for verb in ("call", "list")},
    "topic": {verb: f"topic.{verb}_verb" for verb in ("echo", "hz", "info", "list")},
}
"""Command -> verb -> module, imported when it is called for: launching needs neither rclpy nor the readers of bags.

A module has `add_arguments(parser)` and `main(args)`, which returns what to exit with.
"""


def main(argv: Sequence[str] | None = None) -> int | str | None:
    """Run the command; return what to exit with."""
    argv = sys.argv[1:] if argv is None else argv
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    unknown = _unknown(argv)
    if unknown:
        return unknown
    args = _parser(argv).parse_args(argv)
    try:
        return args.main(args)
    except KeyboardInterrupt:
        return 130 if argv[0] in ("launch", "run") else 2
    except (RuntimeError, LookupError, OSError) as error:
        return str(error.args[0] if error.args and isinstance(error, LookupError) else error)


def _unknown(argv: Sequence[str]) -> str:
    """The message for a verb that only a ROS distribution has, empty otherwise."""
    words = [word for word in argv[:2] if not word.startswith("-")]
    if not words or words != list(argv[: len(words)]):
        return ""
    verbs = COMMANDS.get(words[0])
    if verbs is None:
        return unsupported(words[0])
    return unsupported(" ".join(words)) if "" not in verbs and len(words) > 1 and words[1] not in verbs else ""


def unsupported(what: str) -> str:
    """Return the message for something that only a ROS distribution has."""
    known = ", ".join(f"ros2 {command} {'|'.join(verbs)}".rstrip() for command, verbs in COMMANDS.items())
    return f"ros2 {what} is not supported by the stand-in of rlt_ros/standalone, which has: {known}"


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ros2", description="Stand-in for the ros2 command on a machine without a ROS distribution."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for command, verbs in COMMANDS.items():
        if command not in argv[:1]:
            commands.add_parser(command, help=f"verbs: {', '.join(verbs)}" if "" not in verbs else None)
        elif "" in verbs:
            _add_verb(commands, command, verbs[""])
        else:
            group = commands.add_parser(command).add_subparsers(dest="verb", required=True)
            for verb, module in verbs.items():
                _add_verb(group, verb, module)
    return parser


def _add_verb(commands: argparse._SubParsersAction, name: str, module_name: str) -> None:
    module = import_module(f".{module_name}", __package__)
    verb = commands.add_parser(name, help=module.__doc__, description=module.__doc__)
    module.add_arguments(verb)
    verb.set_defaults(main=module.main)
