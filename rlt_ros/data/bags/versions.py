"""Messages of an earlier or later version of this package: what differs, field by field."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rlt_ros.data.bags.bag import Bag
from rlt_ros.data.bags.definitions import typestore
from rlt_ros.data.bags.upgrade import text_of

Fields = dict[str, str]
"""Name of each field of a type to its own type, in the order of the definition."""


def differences(bag: Bag, kinds: Collection[str] | None = None) -> list[str]:
    """A line for every field in which a type of this package is another one in the bag than here. kinds: of these
    types and those within them only.
    """
    here = typestore().fielddefs
    ours = {kind: fields_of(here, kind) for kind in here if _own(kind)}
    theirs = {kind: fields_of(bag.definitions, kind) for kind in bag.definitions if _own(kind)}
    wanted = _with_parts(theirs, kinds) if kinds is not None else set(theirs)
    return [line for kind in sorted(wanted & set(theirs)) for line in _compared(kind, theirs[kind], ours.get(kind))]


def fields_of(definitions: Mapping[str, Any], kind: str) -> Fields:
    """The fields of a type as text."""
    return {name: text_of(description) for name, description in definitions[kind][1]}


def _own(kind: str) -> bool:
    return kind.startswith("rlt_ros/")


def _with_parts(types: Mapping[str, Fields], kinds: Collection[str]) -> set[str]:
    found, waiting = set(), list(kinds)
    while waiting:
        kind = waiting.pop()
        if kind in types and kind not in found:
            found.add(kind)
            waiting += [text.removesuffix("[]") for text in types[kind].values()]
    return found


def _compared(kind: str, theirs: Fields, ours: Fields | None) -> list[str]:
    if ours is None:
        return [f"{kind}: is unknown here"]
    lines = [f"{kind}.{name}: {theirs[name]} in the bag, {ours[name]} here" for name in theirs
             if name in ours and theirs[name] != ours[name]]  # fmt: skip
    lines += [f"{kind}.{name}: {ours[name]} here, not in the bag" for name in ours if name not in theirs]
    lines += [f"{kind}.{name}: {theirs[name]} in the bag, not here" for name in theirs if name not in ours]
    return lines
