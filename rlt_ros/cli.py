"""The `rlt` command: one subcommand for each thing that needs no ROS."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

import rlt_ros

COMMANDS = {
    "fast": ("rlt_ros.loop.fast:main", "practise and evaluate in one process: simulator, loop and learner"),
    "evaluate": ("rlt_ros.loop.evaluate_cli:main", "a learned policy in the simulator, also in a changed world"),
    "train": ("rlt_ros.loop.train_cli:main", "learn from the stored rows of earlier runs"),
    "stage1": ("rlt_ros.token.stage1_cli:main", "VLA and RL token from demonstrations, of a dataset or simulated"),
    "cache": ("rlt_ros.token.cache_cli:main", "token embeddings of a dataset under a frozen VLA, made anew"),
    "serve-vla": ("rlt_ros.vla.remote.serve_cli:main", "a VLA for the features node of another machine"),
    "bag-to-lerobot": ("rlt_ros.data.bags.cli:main", "a recorded run becomes a LeRobot dataset"),
    "rows-from-bag": ("rlt_ros.loop.bag_features_cli:main", "a recorded run through another VLA or token, into rows"),
    "bag-report": ("rlt_ros.data.bags.report_cli:main", "what is in a bag: phases, who drove, gaps, losses, latencies"),
    "demonstrate": ("rlt_ros.token.demonstrate_cli:main", "demonstrations of a simulated task as a LeRobot dataset"),
    "report": ("rlt_ros.report.cli:main", "what a run did, or several side by side, as one page"),
    "check-dataset": ("rlt_ros.data.check.cli:main", "whether a LeRobot dataset is fit for Stage 1"),
    "norm-stats": ("rlt_ros.data.lerobot.norm_stats_cli:main", "normalisation statistics of LeRobot datasets"),
}
"""Subcommand to "module:function" and what it does. A function takes its arguments and returns the exit code:
`def main(argv: Sequence[str] | None = None) -> int`. Its module is imported when it is called for.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the subcommand's exit code."""
    args = _parser().parse_args(argv)
    module, function = COMMANDS[args.command][0].split(":")
    return getattr(import_module(module), function)(args.arguments)


def _parser() -> argparse.ArgumentParser:
    width = max(len(name) for name in COMMANDS)
    table = "\n".join(f"  {name:<{width}}  {meaning}" for name, (_, meaning) in COMMANDS.items())
    result = argparse.ArgumentParser(
        prog="rlt",
        description=__doc__,
        epilog=f"commands:\n{table}\n\n`rlt COMMAND --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action="version", version=f"rlt_ros {rlt_ros.__version__}")
    result.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the commands below")
    result.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of the command")
    return result
