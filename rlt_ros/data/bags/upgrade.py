"""Messages of an older version of this package as messages of this one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import nan
from typing import Any

import numpy as np

from rlt_ros.data.bags.definitions import typestore
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.extras import Nodetype

PACKAGE = "rlt_ros/"
STEP, MODE, ROW, ACTOR, STATUS, TRUTH = (
    f"rlt_ros/msg/{name}"
    for name in ("ExecutedStep", "PolicyMode", "Transition", "ActorStats", "OperatorStatus", "SimTruth")
)
RENAMED = {(STEP, "sent"): "action"}
"""A field of today to the one that older messages had it in. Before `sent` was there, `action` was what was sent; what
was asked for is in no such bag, so that `action` is what was sent there too."""
ADDED: dict[tuple[str, str], Any] = {
    (ROW, "last_of_phase"): False,  # `rows` tells it by the row that follows
    (MODE, "reset_start"): np.zeros(0),  # about the start of the robot config
    (ACTOR, "stream"): "",
    (STATUS, "start_poses"): 0,
    (STATUS, "devices"): [],
    (STATUS, "hints"): [],
    (TRUTH, "turn"): nan,  # pegs were round: any turn fits
    (TRUTH, "faults"): [],
}
"""Fields that were added, and what messages without them mean. One that is in neither table makes a message unreadable:
a number that nobody has measured is not made up."""
_NUMBERS = ("int", "uint", "float", "double", "byte", "octet", "char", "bool")


class Upgrade:
    """Turns messages that were read with the definitions of a bag into those of today; others stay as they are."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        store = typestore()
        self._theirs, self._here, self._types = definitions, store.fielddefs, store.types
        self.same = cache(self._same)
        self._sources = cache(self._find_sources)

    def __call__(self, kind: str, message: Any) -> Any:
        """The message as one of today. Raises BagError naming each field that can be had from nowhere."""
        if not kind.startswith(PACKAGE) or kind not in self._here or self.same(kind):
            return message
        values = {}
        for name, source in self._sources(kind).items():
            value = getattr(message, source) if source else ADDED[kind, name]
            values[name] = self._part(self._here[kind][1], name, value)
        return self._types[kind](**values)

    def _part(self, fields: Any, name: str, value: Any) -> Any:
        part = part_of(dict(fields)[name])
        if not part.startswith(PACKAGE):
            return value
        return [self(part, item) for item in value] if isinstance(value, (list, tuple)) else self(part, value)

    def _same(self, kind: str) -> bool:
        theirs, here = self._theirs[kind][1], self._here[kind][1]
        parts = {part_of(field) for _, field in here}
        return theirs == here and all(self.same(part) for part in parts if part.startswith(PACKAGE))

    def _find_sources(self, kind: str) -> dict[str, str]:
        """By field of today, the field of the bag's message that has it, empty for one that was added."""
        theirs = dict(self._theirs[kind][1])
        sources, lacking = {}, []
        for name, field in self._here[kind][1]:
            source = name if name in theirs else RENAMED.get((kind, name), "")
            sources[name] = source if source in theirs else ""
            if sources[name] and not fits(theirs[source], field):
                lacking.append(f"{kind}.{name}: {text_of(theirs[source])} in the bag, {text_of(field)} here")
            elif not sources[name] and (kind, name) not in ADDED:
                lacking.append(f"{kind}.{name}: {text_of(field)} here, not in the bag")
        if lacking:
            raise BagError(f"older messages that cannot be converted: {'; '.join(lacking)}")
        return sources


def fits(theirs: Any, ours: Any) -> bool:
    """Whether values of one field can stand in another: numbers of any width, else the same type."""
    first, second = part_of(theirs), part_of(ours)
    numbers = first.startswith(_NUMBERS) and second.startswith(_NUMBERS)
    return (first == second or numbers) and text_of(theirs).removeprefix(first) == text_of(ours).removeprefix(second)


def part_of(field: Any) -> str:
    """The type of a field, or of its elements."""
    node, value = field
    if node == Nodetype.BASE:
        return value[0]
    return value if node == Nodetype.NAME else part_of(value[0])


def text_of(field: Any) -> str:
    """A field's type as in a .msg file."""
    node, value = field
    if node in (Nodetype.BASE, Nodetype.NAME):
        return part_of(field)
    return f"{text_of(value[0])}[{value[1] or ''}]"
