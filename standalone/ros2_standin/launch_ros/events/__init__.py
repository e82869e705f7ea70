"""Events of ROS nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from launch._support import missing_attribute

from . import lifecycle

if TYPE_CHECKING:
    from ..actions import Node

__getattr__ = missing_attribute(__name__)
__all__ = ["lifecycle", "matches_node_name"]


def matches_node_name(node_name: str) -> Callable[[Node], bool]:
    """Return a matcher for the node of the name, namespace included."""
    absolute = node_name if node_name.startswith("/") else f"/{node_name}"
    return lambda action: action.node_name == absolute
