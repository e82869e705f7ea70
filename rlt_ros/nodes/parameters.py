"""Node parameters declared from configuration dataclasses, so that a default and its meaning stand in one place."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from rlt_ros.strict import build

T = TypeVar("T")
_COMMENT = re.compile(r"^\s+(\w+):[^#\n]*#\s*(.+)$", re.MULTILINE)
_DOCSTRING = re.compile(r'^\s+(\w+):[^#\n]*\n\s+"""(.+?)"""$', re.MULTILINE)


def declare(node: Node, name: str, default: Any, description: str) -> Any:
    """Declare a read-only parameter and return its value; a tuple is declared as an array."""
    descriptor = ParameterDescriptor(description=description, read_only=True)
    value = node.declare_parameter(name, list(default) if isinstance(default, tuple) else default, descriptor).value
    return tuple(value) if isinstance(default, tuple) else value


def declare_dataclass(node: Node, cls: type[T], **fixed: Any) -> T:
    """Declare a parameter for every field of a flat dataclass and build it from their values.

    The comment beside a field, or the docstring below it, becomes the parameter's description. Fields given as `fixed`
    are no parameters.
    Raises ConfigError where the dataclass refuses the values.
    """
    source = inspect.getsource(cls)
    meanings = dict(_COMMENT.findall(source) + _DOCSTRING.findall(source))
    values = dict(fixed)
    for field in fields(cls):  # type: ignore[arg-type]
        if field.name in fixed:
            continue
        default = field.default if field.default is not MISSING else field.default_factory()  # type: ignore[misc]
        values[field.name] = declare(node, field.name, default, meanings.get(field.name, ""))
    return build(cls, values, f"parameters of {node.get_name()}")
