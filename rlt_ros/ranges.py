"""Ranges of settings, written as the types of configuration fields: `sigma: Share = 0.1`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, get_type_hints


@dataclass(frozen=True)
class Range:
    """What a number may be, ends included. What depends on other settings is checked by the dataclass that has them."""

    low: float
    high: float


MANY = 1_000_000_000
Share = Annotated[float, Range(0.0, 1.0)]
Amount = Annotated[float, Range(0.0, inf)]
"""Not negative; inf where that says "never"."""
Figure = Annotated[float, Range(-1e6, 1e6)]
Seconds = Annotated[float, Range(0.001, 3600.0)]
Moment = Annotated[float, Range(0.0, 60.0)]
"""s; 0: at once."""
Rate = Annotated[float, Range(0.1, 1000.0)]
"""Hz."""
Count = Annotated[int, Range(0, MANY)]
Positive = Annotated[int, Range(1, MANY)]
Pixels = Annotated[int, Range(8, 8192)]
Seed = Annotated[int, Range(0, 2**63 - 1)]


def ranges(cls: type) -> dict[str, Range]:
    """Ranges of the fields of a configuration dataclass that have one."""
    hints = get_type_hints(cls, include_extras=True)
    return {name: found for name, hint in hints.items() if (found := range_of(hint)) is not None}


def range_of(hint: Any) -> Range | None:
    """The range that a type such as `Share` carries."""
    return next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, Range)), None)
