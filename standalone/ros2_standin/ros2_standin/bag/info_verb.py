"""Print information about a bag to the screen."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import metadata
from .bag_reader import existing_bag, opened

INDENT = 19
ABSURD_SECONDS = 7 * 24 * 3600
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_ORDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "name": lambda topic: topic["topic_metadata"]["name"],
    "type": lambda topic: topic["topic_metadata"]["type"],
    "count": lambda topic: -topic["message_count"],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    add = parser.add_argument
    add("bag_path", type=existing_bag, help="bag to open")
    add("-s", "--storage", default="", choices=["", "mcap", "sqlite3"], help="found by itself")
    add("-t", "--topic-name", action="store_true", help="only display topic names")
    add("-v", "--verbose", action="store_true", help="sizes of the topics, too; reads the whole bag")
    add("--sort", default="name", choices=list(_ORDERS), help="order of the topics (default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    """Print what is in a bag."""
    path: Path = args.bag_path
    known = metadata.read(path) if path.is_dir() else _of_file(path)
    topics = sorted(known["topics_with_message_count"], key=_ORDERS[args.sort])
    if args.topic_name and not args.verbose:
        print(*(topic["topic_metadata"]["name"] for topic in topics), sep="\n")
        return
    print(text(path, known, topics, _sizes(path) if args.verbose else None))
    seconds = known["duration"]["nanoseconds"] / 1e9
    if known["message_count"] and seconds > ABSURD_SECONDS:
        print(
            f"[WARN] [ros2bag]: a duration of {seconds / 86400:.0f} days: are there messages with absurd stamps in it? "
            "`ros2 bag play` leaves them out and says which",
            file=sys.stderr,
        )


def text(path: Path, known: dict[str, Any], topics: list[dict[str, Any]], sizes: Counter[str] | None) -> str:
    """The description of a bag."""
    folder = path if path.is_dir() else path.parent
    paths = [folder / Path(name).name for name in known["relative_file_paths"]]
    start, span = known["starting_time"]["nanoseconds_since_epoch"], known["duration"]["nanoseconds"]
    lines = {
        "Files": f"\n{' ' * INDENT}".join(known["relative_file_paths"]),
        "Bag size": _size(sum(p.stat().st_size for p in paths if p.exists())),
        "Storage id": known["storage_identifier"],
        "ROS Distro": known.get("ros_distro") or "unknown",
        "Duration": f"{_seconds(span)}s",
        "Start": _moment(start),
        "End": _moment(start + span),
        "Messages": str(known["message_count"]),
        "Topic information": f"\n{' ' * INDENT}".join(_topic(topic, sizes) for topic in topics),
    }
    return "\n" + "".join(f"{f'{name}:':<{INDENT}}{value}\n" for name, value in lines.items())


def _topic(topic: dict[str, Any], sizes: Counter[str] | None) -> str:
    about = topic["topic_metadata"]
    size = "" if sizes is None else f"Size Contribution: {_size(sizes[about['name']])} | "
    return (
        f"Topic: {about['name']} | Type: {about['type']} | Count: {topic['message_count']} | {size}"
        f"Serialization Format: {about['serialization_format']}"
    )


def _size(count: float) -> str:
    power = 0
    while count >= 1024 and power < len(_UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{count:.{1 if power else 0}f} {_UNITS[power]}"


def _seconds(span: int) -> str:
    return f"{span // 1_000_000_000}.{span % 1_000_000_000:09d}"


def _moment(stamp: int) -> str:
    try:
        moment = time.localtime(stamp // 1_000_000_000)
        day = time.strftime("%b %e %Y %H:%M:%S", moment)
    except (OverflowError, OSError, ValueError):
        day = "beyond the calendar"
    return f"{day}.{stamp % 1_000_000_000:09d} ({_seconds(stamp)})"


def _sizes(path: Path) -> Counter[str]:
    sizes: Counter[str] = Counter()
    with opened(path) as reader:
        for connection, _, data in reader.messages():
            sizes[connection.topic] += len(data)
    return sizes


def _of_file(path: Path) -> dict[str, Any]:
    """The same of a single file, from its own index."""
    with opened(path) as reader:
        count = reader.message_count
        topics = [
            {
                "topic_metadata": {
                    "name": c.topic,
                    "type": c.msgtype,
                    "serialization_format": c.ext.serialization_format,
                },
                "message_count": c.msgcount,
            }
            for c in reader.connections
        ]
        return {
            "relative_file_paths": [path.name],
            "storage_identifier": "mcap" if path.suffix == ".mcap" else "sqlite3",
            "duration": {"nanoseconds": reader.end_time - reader.start_time - 1 if count else 0},
            "starting_time": {"nanoseconds_since_epoch": reader.start_time},
            "message_count": count,
            "topics_with_message_count": topics,
        }
