"""Values with a type: scalars, lists, and substitutions that become one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, get_args, get_origin

import yaml

from ..substitution import Substitution
from . import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

SCALARS = (int, float, bool, str)


def extract_type(data_type: Any) -> tuple[type, bool]:
    """Return the scalar type and whether a list of it is meant."""
    is_list = get_origin(data_type) is list
    scalar = get_args(data_type)[0] if is_list else data_type
    if scalar not in SCALARS:
        raise ValueError(f"Unrecognized data type: {data_type}")
    return scalar, is_list


def is_substitution(value: Any) -> bool:
    """Return whether the value is a substitution or a sequence of text with at least one in it."""
    if isinstance(value, (Substitution, str)) or not isinstance(value, Iterable):
        return isinstance(value, Substitution)
    items = list(value)
    texts = all(isinstance(item, (Substitution, str)) for item in items)
    return texts and any(isinstance(item, Substitution) for item in items)


def normalize_typed_substitution(value: Any, data_type: Any = None) -> Any:
    """Return a scalar, a list of substitutions, or a list of scalars and lists of substitutions."""
    if isinstance(value, SCALARS):
        if data_type is not None and not _fits(value, data_type):
            raise TypeError(f"value='{value}' is not an instance of {data_type}")
        return value
    if is_substitution(value):
        return normalize_to_list_of_substitutions(value)
    if not isinstance(value, Iterable):
        raise TypeError(f"expected a scalar, a substitution or a list of them, got {value!r}")
    return _normalize_list(list(value), data_type)


def perform_typed_substitution(context: LaunchContext, value: Any, data_type: Any = None) -> Any:
    """Return the value of what `normalize_typed_substitution` returned."""
    if isinstance(value, SCALARS):
        return value
    if _is_normalized(value):
        return coerce_to_type(perform_substitutions(context, value), data_type)
    scalar = None if data_type is None else extract_type(data_type)[0]
    items = [_perform_item(context, item, scalar) for item in value]
    if len({type(item) for item in items}) > 1:
        raise ValueError("The output list is not uniform")
    return items


def coerce_to_type(text: str, data_type: Any = None) -> Any:
    """Return the text as the type asked for, or as YAML reads it."""
    if data_type is None:
        return _uniform(yaml.safe_load(text)) if text else text
    scalar, is_list = extract_type(data_type)
    if is_list:
        return _coerce_list(text, scalar)
    if scalar is bool:
        return _coerce_bool(text)
    return scalar(text)


def _coerce_bool(text: str) -> bool:
    value = {"1": True, "0": False}.get(text, yaml.safe_load(text) if text else None)
    if not isinstance(value, bool):
        raise ValueError(f"Cannot convert value '{text}' to '{bool}'")
    return value


def _coerce_list(text: str, scalar: type) -> list[Any]:
    value = yaml.safe_load(text)
    if not isinstance(value, list) or not all(isinstance(item, scalar) for item in value):
        raise ValueError(f"Cannot convert value '{text}' to a list of '{scalar}'")
    return value


def _uniform(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    if len({type(item) for item in items}) > 1 or not all(isinstance(item, SCALARS) for item in items):
        raise ValueError(f"output type is not allowed, got {value!r}")
    return value


def _fits(value: Any, data_type: Any) -> bool:
    scalar, is_list = extract_type(data_type)
    return not is_list and isinstance(value, scalar)


def _is_normalized(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Substitution) for item in value)


def _normalize_list(items: list[Any], data_type: Any) -> list[Any]:
    scalar, is_list = (None, True) if data_type is None else extract_type(data_type)
    if not is_list:
        raise TypeError(f"a list was given where the type is a scalar: value={items}, type={data_type}")
    plain = {type(item) for item in items if not is_substitution(item)}
    if plain == {int, float}:
        plain = {float}
        items = [float(item) if isinstance(item, int) else item for item in items]
    if len(plain) > 1 or (scalar and plain and plain != {scalar} and (plain, scalar) != ({int}, float)):
        raise TypeError(f"expected a uniform list of {scalar or 'one type'}, got {items}")
    return [normalize_to_list_of_substitutions(item) if is_substitution(item) else item for item in items]


def _perform_item(context: LaunchContext, item: Any, scalar: type | None) -> Any:
    if _is_normalized(item):
        return coerce_to_type(perform_substitutions(context, item), scalar)
    return float(item) if scalar is float else item
