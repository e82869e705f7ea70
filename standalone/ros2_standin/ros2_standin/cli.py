"""Entry point of the command: finds the verb and maps its outcome to an exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from . import launch_verb, run_verb

Verb = tuple[Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]

VERBS: dict[str, Verb] = {
    "launch": (launch_verb.add_arguments, launch_verb.main),
    "run": (run_verb.add_arguments, run_verb.main),
}


def main(argv: Sequence[str]) -> int | str:
    """Run the command; return what to exit with."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if argv and not argv[0].startswith("-") and argv[0] not in VERBS:
        return unsupported(argv[0])
    args = _parser().parse_args(argv)
    try:
        return args.main(args)
    except KeyboardInterrupt:
        return 130
    except (RuntimeError, LookupError, OSError) as error:
        return str(error.args[0] if error.args and isinstance(error, LookupError) else error)


def unsupported(verb: str) -> str:
    """Return the message for a verb that only a ROS distribution has."""
    known = ", ".join(f"ros2 {name}" for name in VERBS)
    return f"ros2 {verb} is not supported by the stand-in of rlt_ros/standalone, which has: {known}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ros2", description="Stand-in for the ros2 command on a machine without a ROS distribution."
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, (add_arguments, run) in VERBS.items():
        verb = verbs.add_parser(name, help=sys.modules[run.__module__].__doc__)
        add_arguments(verb)
        verb.set_defaults(main=run)
    return parser
