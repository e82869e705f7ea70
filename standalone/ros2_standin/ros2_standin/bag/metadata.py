"""metadata.yaml of a bag, in version 9 of the format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

VERSION = 9
NAME = "metadata.yaml"
NEVER = 2**63 - 1
"""Starting time where there is no message."""
KEY = "rosbag2_bagfile_information"


@dataclass
class Topic:
    """A recorded topic. qos: profiles offered by its publishers, as plain values. digest: hash of the type."""

    name: str
    kind: str
    qos: list[dict[str, Any]] = field(default_factory=list)
    digest: str = ""
    count: int = 0

    @property
    def qos_text(self) -> str:
        """The profiles as they stand in a file of the bag."""
        return yaml.safe_dump(self.qos, sort_keys=False).strip() if self.qos else ""


@dataclass
class File:
    """One file of a bag. start, end: ns, of its messages."""

    path: str
    start: int = NEVER
    end: int = 0
    count: int = 0

    def add(self, stamp: int) -> None:
        """Count a message."""
        self.start, self.end, self.count = min(self.start, stamp), max(self.end, stamp), self.count + 1


def text(
    topics: Sequence[Topic],
    files: Sequence[File],
    compression: tuple[str, str] = ("", ""),
    custom: Mapping[str, str] | None = None,
) -> str:
    """The metadata of a bag. compression: mode and format, empty without."""
    start, end = min((f.start for f in files), default=NEVER), max((f.end for f in files), default=0)
    information = {
        "version": VERSION,
        "storage_identifier": "mcap",
        **_span(start, end),
        "message_count": sum(f.count for f in files),
        "topics_with_message_count": [_topic(topic) for topic in topics],
        "compression_format": compression[1],
        "compression_mode": compression[0],
        "relative_file_paths": [f.path for f in files],
        "files": [{"path": f.path, **_span(f.start, f.end), "message_count": f.count} for f in files],
        "custom_data": dict(custom) if custom else None,
        "ros_distro": os.environ.get("ROS_DISTRO", ""),
    }
    return yaml.safe_dump({KEY: information}, sort_keys=False)


def write(folder: Path, content: str) -> None:
    """Write it whole or not at all."""
    aside = folder / f"{NAME}.tmp"
    try:
        with aside.open("w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(folder / NAME)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def read(folder: Path) -> dict[str, Any]:
    """What metadata.yaml says. Raises RuntimeError naming what is wrong."""
    path = folder / NAME
    if not path.is_file():
        again = f"`ros2 bag reindex {folder}` writes it anew"
        raise RuntimeError(f"no {NAME} in {folder}: was the recorder killed? {again}")
    try:
        return yaml.safe_load(path.read_text())[KEY]
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise RuntimeError(f"{path} cannot be read: {type(error).__name__}: {error}") from error


def _span(start: int, end: int) -> dict[str, Any]:
    return {
        "duration": {"nanoseconds": max(0, end - start) if start != NEVER else 0},
        "starting_time": {"nanoseconds_since_epoch": start},
    }


def _topic(topic: Topic) -> dict[str, Any]:
    described = {
        "name": topic.name,
        "type": topic.kind,
        "serialization_format": "cdr",
        "offered_qos_profiles": topic.qos,
        "type_description_hash": topic.digest,
    }
    return {"topic_metadata": described, "message_count": topic.count}
