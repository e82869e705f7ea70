"""Play back ROS data from a bag."""

from __future__ import annotations

import argparse
import re
import signal
import threading
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions

from ..number_types import not_negative_float, positive_float, unsigned_int
from ..qos import overrides_from
from .bag_reader import existing_bag, opened
from .player import ACKNOWLEDGED, Options, Player
from .playlist import Playlist

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLOCK_RATE = 40.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add = parser.add_argument
    add("bag_path", type=existing_bag, help="bag to open")
    add("-s", "--storage", default="", choices=["", "mcap", "sqlite3"], help="found by itself")
    add("--read-ahead-queue-size", type=unsigned_int, default=1000, help="accepted; of no effect here")
    add("-r", "--rate", type=positive_float, default=1.0, help="speed (default: %(default)s)")
    add("--topics", nargs="+", default=[], metavar="topic", help="topics to play (default: all)")
    add("-e", "--regex", default="", help="play only topics that match")
    add("-x", "--exclude-regex", default="", help="leave out topics that match")
    add("--exclude-topics", nargs="+", default=[], metavar="topic", help="topics to leave out")
    add("--qos-profile-overrides-path", type=argparse.FileType("r"), help="YAML file with QoS profiles by topic")
    add("-l", "--loop", action="store_true", help="begin again at the end")
    add("-m", "--remap", nargs="+", default=[], metavar="OLD:=NEW", help="topics to play under other names")
    _add_time(parser)
    add("--wait-for-all-acked", type=unsigned_int, metavar="TIMEOUT", help="ms at the end (default: 2000)")
    add("--disable-keyboard-controls", action="store_true", help="accepted; there are none here")
    add("--disable-loan-message", action="store_true", help="accepted; none is loaned here")
    add("--log-level", default="info", choices=["debug", "info", "warn", "error", "fatal"], help="logging level")


def _add_time(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--clock", type=positive_float, nargs="?", const=CLOCK_RATE, default=0.0, help="publish /clock at so many Hz"
    )
    group.add_argument("--clock-topics", nargs="+", default=[], help="topics before whose messages /clock is published")
    group.add_argument("--clock-topics-all", action="store_true", help="publish /clock before every message")
    add("-d", "--delay", type=positive_float, default=0.0, help="seconds before play, also of each loop")
    add("--start-offset", type=not_negative_float, default=0.0, help="begin so many seconds into the bag")
    add("--playback-duration", type=float, default=-1.0, help="play for so many seconds; negative: to the end")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--playback-until-sec", type=float, default=-1.0, help="play to this stamp; negative: all")
    group.add_argument("--playback-until-nsec", type=int, default=-1, help="the same in nanoseconds")


def main(args: argparse.Namespace) -> int | str:
    """Play until the end or a signal."""
    try:
        remap, overrides = _remap(args.remap), overrides_from(args.qos_profile_overrides_path)
    except ValueError as error:
        return f"[ERROR] [ros2bag]: {error}"
    wait = ACKNOWLEDGED if args.wait_for_all_acked is None else args.wait_for_all_acked / 1000.0
    clock_topics = None if args.clock_topics_all else args.clock_topics
    options = Options(args.rate, args.loop, args.clock, clock_topics, args.delay, remap, overrides, wait)
    ended = threading.Event()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: ended.set())
    with opened(args.bag_path) as reader, rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO):
        node = rclpy.create_node("rosbag2_player", start_parameter_services=False)
        wanted = [connection for connection in reader.connections if _wanted(args, connection.topic)]
        player = Player(node, reader, options, ended)
        playable = player.prepare(wanted)
        if not playable:
            return f"[ERROR] [ros2bag]: nothing to play in {args.bag_path}"
        player.play(_playlist(args, playable))
        node.destroy_node()
    return 0


def _playlist(args: argparse.Namespace, playable: list[Any]) -> Playlist:
    until = int(args.playback_until_sec * 1e9) if args.playback_until_sec >= 0 else args.playback_until_nsec
    duration = args.playback_duration if args.playback_duration >= 0 else None
    return Playlist(playable, args.start_offset, duration, until if until >= 0 else None)


def _wanted(args: argparse.Namespace, topic: str) -> bool:
    if args.clock and topic == "/clock":
        return False
    named = topic in args.topics or bool(args.regex and re.search(args.regex, topic))
    if not named and (args.topics or args.regex):
        return False
    return topic not in args.exclude_topics and not (args.exclude_regex and re.search(args.exclude_regex, topic))


def _remap(rules: list[str]) -> dict[str, str]:
    pairs = [rule.partition(":=") for rule in rules]
    for rule, (old, _, new) in zip(rules, pairs, strict=True):
        if not (old and new):
            raise ValueError(f"--remap {rule}: expected OLD:=NEW")
    return {f"/{old.lstrip('/')}": f"/{new.lstrip('/')}" for old, _, new in pairs}
