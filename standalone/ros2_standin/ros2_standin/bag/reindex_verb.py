"""Reconstruct the metadata file of a bag, and the index of files that a killed recorder left unfinished."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import yaml

from . import mcap_repair, metadata
from .mcap_files import unpack
from .metadata import Topic


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("bag_path", type=Path, help="bag to reindex")
    parser.add_argument("-s", "--storage", default="mcap", choices=["", "mcap"], help="default: %(default)s")


def main(args: argparse.Namespace) -> str | None:
    """Mend the bag."""
    folder: Path = args.bag_path
    if not folder.is_dir():
        return "[ERROR] [ros2bag]: Must specify a bag directory"
    for packed in folder.glob("*.mcap.zstd"):
        unpack(packed)
    paths = sorted(folder.glob("*.mcap"), key=_number)
    if not paths:
        return f"[ERROR] [ros2bag]: no .mcap files in {folder}"
    topics: dict[str, Topic] = {}
    found = [_mended(path) for path in paths if _begun(path)]
    for one in found:
        _add_topics(one, topics)
    compression = ("MESSAGE", "zstd") if any(one.packed for one in found) else ("", "")
    files = [one.facts for one in found if one.channels]
    metadata.write(folder, metadata.text(list(topics.values()), files, compression))
    print(f"reindexed {folder}: {sum(f.count for f in files)} messages in {len(files)} files")
    return None


def _begun(path: Path) -> bool:
    if path.stat().st_size:
        return True
    print(f"{path.name}: nothing in it")
    return False


def _mended(path: Path) -> mcap_repair.Found:
    if mcap_repair.finished(path):
        with path.open("rb") as file:
            return mcap_repair.scan(file, path)
    found = mcap_repair.repair(path)
    print(f"{path.name}: index written, {found.facts.count} messages; {found.cut} bytes of an unfinished end cut off")
    return found


def _add_topics(found: mcap_repair.Found, topics: dict[str, Topic]) -> None:
    for channel in found.channels.values():
        topic = topics.setdefault(channel.topic, _topic(channel, found))
        topic.count += found.counts[channel.topic]


def _topic(channel: mcap_repair.Channel, found: mcap_repair.Found) -> Topic:
    profiles = yaml.safe_load(channel.metadata.get("offered_qos_profiles", "")) or []
    kind = found.schemas[channel.schema_id].name
    return Topic(channel.topic, kind, profiles, channel.metadata.get("topic_type_hash", ""))


def _number(path: Path) -> tuple[int, str]:
    number = re.search(r"_(\d+)\.mcap$", path.name)
    return (int(number[1]) if number else 0, path.name)
