"""Show a bag: `ros2 bag play` in real time, with everything out of the way that a robot could obey."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import rclpy
from rclpy.signals import SignalHandlerOptions

from rlt_ros.data.bags.child import start
from rlt_ros.data.bags.viewing import PREFIX, View, state_topics, topics_of, view
from rlt_ros.robot.config import load_robot

LOOK_FOR = 4.0
"""Seconds in which nodes of a run that is under way are looked for; finding one another takes DDS up to 3 s."""
CLOCK_RATE = 100.0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the player's exit code."""
    args = parser().parse_args(argv)
    try:
        topics = topics_of(args.bag)
        states = state_topics(load_robot(args.robot_config), args.robot_namespace)
    except ValueError as error:
        print(f"replay: {error}", file=sys.stderr)
        return 1
    live = live_run(states)
    if live:
        print(f"replay: {live}: everything is played under {PREFIX}, /clock is not played", flush=True)
    return _play(command(args, view(topics, states, bool(live))))


def live_run(states: Collection[str]) -> str:
    """What in this graph a replay must not disturb: an executor, or somebody who publishes a robot's state."""
    with rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO):
        node = rclpy.create_node("_replay", start_parameter_services=False, enable_rosout=False)
        end = time.monotonic() + LOOK_FOR
        found = ""
        while not found and time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.1)
            executors = [space for name, space in node.get_node_names_and_namespaces() if name == "executor"]
            published = [topic for topic in sorted(states) if node.count_publishers(topic)]
            if executors:
                found = f"an executor is running in {executors[0]}"
            elif published:
                found = f"{published[0]} has a publisher: a robot is there"
        node.destroy_node()
    return found


def command(args: argparse.Namespace, shown: View) -> list[str]:
    """The command line of the player."""
    words = ["ros2", "bag", "play", str(args.bag), "--disable-keyboard-controls", "--rate", str(args.rate)]
    words += ["--start-offset", str(args.start_offset)]
    words += ["--loop"] if args.loop else []
    words += ["--clock", str(CLOCK_RATE)] if shown.clock else []
    words += ["--exclude-topics", *shown.exclude] if shown.exclude else []
    return words + ["--remap", *(f"{old}:={new}" for old, new in shown.remap.items())] * bool(shown.remap)


def _play(words: list[str]) -> int:
    player = start(words)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: player.send_signal(signal.SIGINT))
    return player.wait()


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(prog="replay", description=__doc__)
    add = result.add_argument
    add("bag", type=Path, help="bag to show")
    add("--rate", type=float, default=1.0, help="speed (default: %(default)g)")
    add("--start-offset", type=float, default=0.0, help="begin so many seconds into the bag")
    add("--loop", action="store_true", help="begin again at the end")
    add("--robot-config", default="", metavar="YAML", help="robot config; default: the FR3's")
    add("--robot-namespace", default="", help="of the robot's own topics")
    return result


if __name__ == "__main__":
    sys.exit(main())
