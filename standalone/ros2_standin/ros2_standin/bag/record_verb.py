"""Record ROS data to a bag."""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

from ..number_types import unsigned_int
from ..qos import overrides_from
from .bag_writer import BagWriter, Storage
from .mcap_files import PRESETS
from .recorder import Options, record
from .selection import Selection

CACHE_BYTES = 100 * 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add = parser.add_argument
    add("-o", "--output", help="bag to create (default: a folder with a time stamp)")
    add("-s", "--storage", default="mcap", choices=["mcap"], help="default: %(default)s")
    _add_selection(parser)
    _add_discovery(parser)
    _add_files(parser)
    add("--use-sim-time", action="store_true", help="stamp messages by /clock; before it begins nothing is written")
    add("--node-name", default="rosbag2_recorder", help="name of the recorder's node (default: %(default)s)")
    add("--custom-data", nargs="*", default=[], metavar="KEY=VALUE", help="kept in the metadata")
    add("--disable-keyboard-controls", action="store_true", help="accepted; there are none here")
    add("--log-level", default="info", choices=["debug", "info", "warn", "error", "fatal"], help="logging level")


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("positional", nargs="*", default=[], metavar="topic", help="topics to record (deprecated)")
    group.add_argument("--topics", nargs="+", default=[], metavar="topic", help="topics to record")
    add = parser.add_argument
    add("--topic-types", nargs="+", default=[], metavar="TYPE", help="record all topics of these types")
    add("-a", "--all", action="store_true", help="record all topics that are not hidden")
    add("--all-topics", action="store_true", help="the same")
    add("-e", "--regex", default="", help="record topics that contain the expression; --all overrides it")
    add("--exclude-regex", default="", help="leave out topics that contain the expression")
    add("--exclude-topics", nargs="+", default=[], metavar="topic", help="topics to leave out")
    add("--exclude-topic-types", nargs="+", default=[], metavar="TYPE", help="types to leave out")


def _add_discovery(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--include-unpublished-topics", action="store_true", help="record topics without a publisher, too")
    add("--include-hidden-topics", action="store_true", help="record hidden topics, too")
    add("--ignore-leaf-topics", action="store_true", help="leave out topics without a subscription")
    add("--no-discovery", action="store_true", help="only topics that are there at the start")
    add("-p", "--polling-interval", type=unsigned_int, default=100, help="ms between looks (default: %(default)d)")
    add("--qos-profile-overrides-path", type=argparse.FileType("r"), help="YAML file with QoS profiles by topic")


def _add_files(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-b", "--max-bag-size", type=unsigned_int, default=0, help="bytes of a file at most; 0: no limit")
    add("-d", "--max-bag-duration", type=unsigned_int, default=0, help="seconds of a file at most; 0: no limit")
    add(
        "--max-cache-size", type=unsigned_int, default=CACHE_BYTES, help="bytes that may wait for the disk; 0: no limit"
    )
    add("--storage-preset-profile", default="none", choices=list(PRESETS), help="zstd_*: chunks are compressed")
    add("--compression-mode", default="none", choices=["none", "file", "message"], help="default: %(default)s")
    add("--compression-format", default="", choices=["", "zstd"], help="with a compression mode only")


def main(args: argparse.Namespace) -> int | str:
    """Record until a signal comes."""
    folder = Path(args.output or datetime.datetime.now().strftime("rosbag2_%Y_%m_%d-%H_%M_%S"))
    try:
        _check(args, folder)
        options = Options(
            selection=_selection(args),
            overrides=overrides_from(args.qos_profile_overrides_path),
            poll=0.0 if args.no_discovery else args.polling_interval / 1000.0,
            unpublished=args.include_unpublished_topics,
            ignore_leaves=args.ignore_leaf_topics,
            use_sim_time=args.use_sim_time,
            cache_bytes=args.max_cache_size,
            node_name=args.node_name,
        )
        storage = _storage(args)
    except ValueError as error:
        return f"[ERROR] [ros2bag]: {error}"
    return record(BagWriter(folder, storage), options)


def _check(args: argparse.Namespace, folder: Path) -> None:
    everything = args.all or args.all_topics
    open_ended = everything or args.topic_types or args.regex
    if args.positional:
        print('[WARN] [ros2bag]: Positional "topics" argument deprecated. Please use optional "--topics" instead.')
    if not (open_ended or args.topics or args.positional):
        raise ValueError("Need to specify at least one of --all, --all-topics, --topics, --topic-types, --regex")
    for option in ("exclude_regex", "exclude_topics", "exclude_topic_types"):
        if getattr(args, option) and not open_ended:
            name = option.replace("_", "-")
            raise ValueError(f"--{name} argument requires either --all, --all-topics, --topic-types or --regex")
    if folder.exists():
        raise ValueError(f"Output folder '{folder}' already exists.")
    if args.use_sim_time and args.no_discovery:
        raise ValueError("--use-sim-time and --no-discovery both set, but are incompatible settings.")
    if args.compression_format and args.compression_mode == "none":
        raise ValueError("Invalid choice: Cannot specify compression format without a compression mode.")
    if args.compression_mode != "none" and not args.compression_format:
        raise ValueError("Invalid choice: a compression mode needs --compression-format zstd.")


def _selection(args: argparse.Namespace) -> Selection:
    def full(names: list[str]) -> frozenset[str]:
        return frozenset(f"/{name.lstrip('/')}" for name in names)

    return Selection(
        everything=args.all or args.all_topics,
        topics=full(args.topics or args.positional),
        types=frozenset(args.topic_types),
        regex=args.regex,
        exclude_topics=full(args.exclude_topics),
        exclude_types=frozenset(args.exclude_topic_types),
        exclude_regex=args.exclude_regex,
        include_hidden=args.include_hidden_topics,
    )


def _storage(args: argparse.Namespace) -> Storage:
    pairs = [pair.partition("=") for pair in args.custom_data]
    if any(not separator for _, separator, _ in pairs):
        raise ValueError(f"--custom-data {' '.join(args.custom_data)}: expected KEY=VALUE")
    custom = {key: value for key, _, value in pairs}
    return Storage(args.max_bag_size, args.max_bag_duration, args.compression_mode, args.storage_preset_profile, custom)
