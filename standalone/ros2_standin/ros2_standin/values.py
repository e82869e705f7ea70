"""Messages as YAML and CSV, and messages filled from YAML."""

from __future__ import annotations

import array
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml
from rosidl_parser.definition import AbstractNestedType, Array, BoundedSequence, NamespacedType

from .interfaces import interface


@dataclass(frozen=True)
class Shown:
    """How much of a message is shown. length: elements of an array or string at most, None for all."""

    length: int | None = None
    arrays: bool = True
    strings: bool = True


def as_yaml(message: Any, shown: Shown, flow_style: bool = False) -> str:
    """YAML of a message, its fields in their order."""
    plain = _plain(message, shown)
    return yaml.safe_dump(plain, allow_unicode=True, width=sys.maxsize, default_flow_style=flow_style, sort_keys=False)


def as_csv(message: Any, shown: Shown) -> str:
    """All values of a message with commas between."""
    return ",".join(_flat(_plain(message, shown)))


def _flat(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _flat(item)]
    return [text for item in value for text in _flat(item)] if isinstance(value, list) else [str(value)]


def _plain(value: Any, shown: Shown, slot: Any = None) -> Any:
    if hasattr(value, "get_fields_and_field_types"):
        slots = zip(value.get_fields_and_field_types(), value.SLOT_TYPES, strict=True)
        return {name: _plain(getattr(value, name), shown, kind) for name, kind in slots}
    if isinstance(value, bytes):
        value = value.decode("latin-1")
        return value if shown.length is None or len(value) <= shown.length else value[: shown.length] + "..."
    if isinstance(value, str):
        return _text(value, shown)
    if isinstance(value, (list, tuple, array.array, np.ndarray)):
        return _array(value, shown, slot)
    return value.item() if isinstance(value, np.generic) else value


def _text(value: str, shown: Shown) -> str:
    if not shown.strings:
        return f"<string length: <{len(value)}>>"
    return value if shown.length is None or len(value) <= shown.length else value[: shown.length] + "..."


def _array(value: Any, shown: Shown, slot: Any) -> Any:
    if not shown.arrays and slot is not None:
        return _abbreviated(value, slot)
    cut = shown.length is not None and len(value) > shown.length
    return [_plain(item, shown) for item in (value[: shown.length] if cut else value)] + (["..."] if cut else [])


def _abbreviated(value: Any, slot: Any) -> str:
    kind = slot.value_type
    name = "/".join(kind.namespaced_name()) if isinstance(kind, NamespacedType) else getattr(kind, "typename", "string")
    if isinstance(slot, Array):
        return f"<array type: {name}[{slot.size}]>"
    bound = f"[{slot.maximum_size}]" if isinstance(slot, BoundedSequence) else ""
    return f"<sequence type: {name}{bound}, length: {len(value)}>"


def fill(message: Any, values: Any) -> None:
    """Set fields of a message. Raises AttributeError, TypeError or ValueError where they do not fit."""
    if not isinstance(values, Mapping):
        raise TypeError(f"Value '{values}' is expected to be a dictionary but is a {type(values).__name__}")
    slots = dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True))
    for name, value in values.items():
        setattr(message, name, _converted(getattr(message, name), value, slots.get(name)))


def _converted(current: Any, value: Any, slot: Any) -> Any:
    if isinstance(current, array.array):
        return array.array(current.typecode, value)
    if isinstance(current, np.ndarray):
        return np.array(value, dtype=current.dtype)
    if hasattr(current, "get_fields_and_field_types"):
        filled = type(current)()
        fill(filled, value)
        return filled
    if isinstance(slot, AbstractNestedType) and isinstance(slot.value_type, NamespacedType):
        kind = interface("/".join(slot.value_type.namespaced_name()), "msg")
        return [_converted(kind(), item, None) for item in value]
    return value if type(value) is type(current) else type(current)(value)
