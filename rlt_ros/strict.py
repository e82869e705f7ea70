"""Configuration dataclasses from mappings, without a silent default for a misspelt key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

T = TypeVar("T")


class ConfigError(ValueError):
    """A configuration that cannot be used; names the file or section, the key and the values."""


def build(cls: type[T], values: Mapping[str, Any], where: str) -> T:
    """Build a dataclass, nested ones included. Raises ConfigError on unknown or missing keys and on wrong types."""
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(known)}")
    required = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    missing = [n for n in required if n not in values]
    if missing:
        raise ConfigError(f"{where}: missing key {missing[0]!r}")
    built = {name: _convert(hints[name], value, f"{where}.{name}") for name, value in values.items()}
    try:
        return cls(**built)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from error


def load(cls: type[T], path: Path) -> T:
    """Build a dataclass from a YAML file."""
    return build(cls, read_mapping(path), str(path))


def read_mapping(path: Path) -> Mapping[str, Any]:
    """The mapping in a YAML file. Raises ConfigError naming the file."""
    try:
        values = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    if not isinstance(values, Mapping):
        raise ConfigError(f"{path}: expected a mapping, found {type(values).__name__}")
    return values


def merged(
    base: Mapping[str, Any], changes: Mapping[str, Any], where: str, whole: Sequence[str] = ()
) -> dict[str, Any]:
    """A mapping with some keys replaced; mappings in it key by key, unless their names are among the `whole` ones.

    Raises ConfigError on a key that the base lacks.
    """
    values = dict(base)
    for name, value in changes.items():
        if name not in base:
            raise ConfigError(f"{where}: unknown key {name!r}; known are {', '.join(base)}")
        if isinstance(base[name], Mapping) and isinstance(value, Mapping) and name not in whole:
            value = merged(base[name], value, f"{where}.{name}")
        values[name] = value
    return values


def changed(base: Mapping[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Settings with `name=value` assignments carried out. Raises ConfigError on one without a name and a value."""
    values = dict(base)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not (name and equals):
            raise ConfigError(f"--set {assignment}: expected NAME=VALUE")
        values[name] = value_of(text)
    return values


def value_of(text: str) -> Any:
    """A value as YAML reads it, except that 1e-3 and inf are numbers. Raises ConfigError on what is none."""
    try:
        value = yaml.safe_load(text)
        return float(value) if isinstance(value, str) else value
    except yaml.YAMLError as error:
        raise ConfigError(f"{text!r} is no value: {error}") from error
    except ValueError:
        return value


def _convert(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    if isinstance(hint, type) and is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a mapping, found {value!r}")
        return build(hint, value, where)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _one_of(get_args(hint), value, where)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: expected a mapping, found {value!r}")
        return {k: _convert(hint.__args__[1], v, f"{where}.{k}") for k, v in value.items()}
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"{where}: expected a list, found {value!r}")
        items = hint.__args__
        if len(items) == 2 and items[1] is Ellipsis:
            return tuple(_convert(items[0], v, f"{where}[{i}]") for i, v in enumerate(value))
        if len(items) != len(value):
            raise ConfigError(f"{where}: expected {len(items)} values, found {len(value)}")
        return tuple(_convert(h, v, f"{where}[{i}]") for i, (h, v) in enumerate(zip(items, value)))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (hint is int and isinstance(value, bool))):
        raise ConfigError(f"{where}: expected {hint.__name__}, found {value!r}")
    return value


def _one_of(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """A value of one of the kinds: None and another one, or several plain ones."""
    if value is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind is not type(None)]
    if len(others) == 1:
        return _convert(others[0], value, where)
    if type(value) not in others:  # a truth value is no number
        raise ConfigError(f"{where}: expected {' or '.join(kind.__name__ for kind in others)}, found {value!r}")
    return value
