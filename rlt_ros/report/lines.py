"""Files of a run directory that a killed process, a full disk or a careless hand may have damaged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Say = Callable[[str], None]
"""Takes what is missing or damaged, a sentence that begins with the file's name."""


def read_lines(path: Path, say: Say) -> list[dict[str, Any]]:
    """The JSON objects of a file of lines, damaged ones left out; empty without the file."""
    if not path.is_file():
        say(f"{path.name}: not there")
        return []
    found, damaged = [], []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        entry = _parsed(line)
        if isinstance(entry, dict):
            found.append(entry)
        else:
            damaged.append(number)
    if damaged:
        total = len(found) + len(damaged)
        say(f"{path.name}: {len(damaged)} of {total} lines damaged and left out, the first is line {damaged[0]}")
    return found


def read_object(path: Path, say: Say) -> dict[str, Any]:
    """A file that is one JSON object; empty if it is missing or damaged."""
    if not path.is_file():
        say(f"{path.name}: not there")
        return {}
    entry = _parsed(path.read_bytes())
    if isinstance(entry, dict):
        return entry
    say(f"{path.name}: damaged, not read")
    return {}


def number(entry: Mapping[str, Any], name: str, default: float = float("nan")) -> float:
    """A number of an object, the default where it is missing, null or something else."""
    value = entry.get(name)
    return float(value) if isinstance(value, (int, float)) else default


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
