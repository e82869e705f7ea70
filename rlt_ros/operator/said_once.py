"""YAML files that a person writes: each key is said once, and whatever is wrong is said with the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rlt_ros.strict import ConfigError


class _Once:
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        seen: set[str] = set()
        for name, _ in node.value:
            if name.value in seen:
                raise ConfigError(f"{name.value!r} stands in it twice, again in line {name.start_mark.line + 1}")
            seen.add(name.value)
        return super().construct_mapping(node, deep)  # type: ignore[misc]


class TextLoader(_Once, yaml.BaseLoader):
    """Every scalar is text, so that no key turns into a number or a truth value."""


class TypedLoader(_Once, yaml.SafeLoader):
    """Scalars as YAML means them."""


def read_once(path: Path, loader: type, holds: str) -> Mapping[str, Any]:
    """The mapping in a file. holds: what it maps, in words. Raises ConfigError naming the file."""
    try:
        values = yaml.load(path.read_text(), loader)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(values, Mapping):
        raise ConfigError(f"{path}: expected a mapping of {holds}, found {type(values).__name__}")
    return values
