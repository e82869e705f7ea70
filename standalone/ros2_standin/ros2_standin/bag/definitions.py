"""What a type of messages looks like: the text of its definition, and its hash."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

SEPARATOR = "=" * 80
_FIELD = re.compile(r"^\s*(?:(?P<package>\w+)/)?(?:msg/)?(?P<name>[A-Z]\w*)(?:\[[^\]]*\])?\s+\w+", re.MULTILINE)


@cache
def definition(kind: str) -> str:
    """The .msg file of `package/msg/Name` and those of every type in it; empty where one is not installed."""
    texts: dict[str, str] = {}
    waiting = [kind]
    while waiting:
        name = waiting.pop(0)
        if name in texts:
            continue
        path = _file(name, ".msg")
        if path is None:
            return ""
        texts[name] = path.read_text()
        waiting += _parts(texts[name], name.split("/")[0])
    first, *others = texts
    return f"\n{SEPARATOR}\n".join([texts[first], *(f"MSG: {_short(name)}\n{texts[name]}" for name in others)])


@cache
def installed_hash(kind: str) -> str:
    """The hash (RIHS01_..) of the type as it is installed here, empty where it is not."""
    path = _file(kind, ".json")
    if path is None:
        return ""
    hashes = {entry["type_name"]: entry["hash_string"] for entry in json.loads(path.read_text())["type_hashes"]}
    return hashes.get(kind, "")


def difference(kind: str, theirs: str) -> str:
    """Which fields of a type another definition of it has otherwise, in words; empty where none."""
    here, there = _fields(kind, definition(kind)), _fields(kind, theirs)
    words = []
    for name in {**here, **there}:
        ours, other = here.get(name, {}), there.get(name, {})
        for field in {**ours, **other}:
            if ours.get(field) != other.get(field):
                pair = (other.get(field, "missing"), ours.get(field, "missing"))
                words.append(f"{name}.{field} is {pair[0]} in the bag, {pair[1]} here")
    return "; ".join(words)


def _fields(kind: str, text: str) -> dict[str, dict[str, str]]:
    """By type and field, the field's type."""
    found: dict[str, dict[str, str]] = {}
    for part in text.split(SEPARATOR):
        lines = [line.split("#")[0].split() for line in part.strip().splitlines()]
        name = _short(kind)
        if lines and lines[0][:1] == ["MSG:"]:
            name = lines.pop(0)[1]
        found[name] = {words[1]: words[0].split("/")[-1] for words in lines if len(words) > 1 and "=" not in words[1]}
    return found


def _parts(text: str, package: str) -> list[str]:
    without_comments = re.sub(r"#.*", "", text)
    return [f"{match['package'] or package}/msg/{match['name']}" for match in _FIELD.finditer(without_comments)]


def _short(kind: str) -> str:
    package, _, name = kind.split("/")
    return f"{package}/{name}"


def _file(kind: str, suffix: str) -> Path | None:
    try:
        package, folder, name = kind.split("/")
        path = Path(get_package_share_directory(package), folder, name + suffix)
    except (ValueError, PackageNotFoundError):
        return None
    return path if path.is_file() else None
