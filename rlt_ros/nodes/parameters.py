"""Node parameters declared from configuration dataclasses, so that a default and its meaning stand in one place."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from rlt_ros.ranges import Range, range_of, ranges
from rlt_ros.strict import ConfigError, build

T = TypeVar("T")
_COMMENT = re.compile(r"^\s+(\w+):[^#\n]*#\s*(.+)$", re.MULTILINE)
_DOCSTRING = re.compile(r'^\s+(\w+):[^#\n]*\n\s+"""(.+?)"""$', re.MULTILINE)


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    within: Any = None,
    on_set: Callable[[Any], None] | None = None,
) -> Any:
    """Declare a parameter and return its value; a tuple is declared as an array.

    within: what a number may be, a `Range` or a type of `rlt_ros.ranges`; every number needs one. on_set: is told each
    value that is set while the node runs, between two callbacks, after its type and range were checked; without it the
    parameter is read-only.
    Raises ConfigError where the value given at start has another type or is out of range.
    """
    descriptor = ParameterDescriptor(description=description, read_only=on_set is None)
    _set_range(descriptor, name, default, within if isinstance(within, Range) else range_of(within))
    try:
        declared = node.declare_parameter(name, list(default) if isinstance(default, tuple) else default, descriptor)
    except ParameterException as error:
        raise ConfigError(f"parameters of {node.get_name()}.{name}: {error}") from error
    if on_set is not None:
        _tell(node, name, on_set)
    return tuple(declared.value) if isinstance(default, tuple) else declared.value


def declare_dataclass(
    node: Node, cls: type[T], live: Mapping[str, Callable[[Any], None]] | None = None, **fixed: Any
) -> T:
    """Declare a parameter for every field of a flat dataclass and build it from their values.

    The comment beside a field, or the docstring below it, becomes the parameter's description, the range of its type
    the parameter's. Fields given as `fixed` are no parameters.
    Raises ConfigError where the dataclass refuses the values.
    """
    source = inspect.getsource(cls)
    meanings = dict(_COMMENT.findall(source) + _DOCSTRING.findall(source))
    known, told, values = ranges(cls), live or {}, dict(fixed)
    for field in fields(cls):  # type: ignore[arg-type]
        if field.name in fixed:
            continue
        default = field.default if field.default is not MISSING else field.default_factory()  # type: ignore[misc]
        values[field.name] = declare(
            node, field.name, default, meanings.get(field.name, ""), known.get(field.name), told.get(field.name)
        )
    return build(cls, values, f"parameters of {node.get_name()}")


def _set_range(descriptor: ParameterDescriptor, name: str, default: Any, within: Range | None) -> None:
    if isinstance(default, bool) or not isinstance(default, (int, float)):
        return
    if within is None:
        raise TypeError(f"parameter {name} is a number; its declaration needs a range")
    if isinstance(default, int):
        descriptor.integer_range = [IntegerRange(from_value=int(within.low), to_value=int(within.high), step=1)]
    else:
        low, high = float(within.low), float(within.high)
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]


def _tell(node: Node, name: str, on_set: Callable[[Any], None]) -> None:
    def heard(parameters: list[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == name:
                node.get_logger().info(f"parameter {name} is {parameter.value} from now on")
                on_set(parameter.value)

    node.add_post_set_parameters_callback(heard)
