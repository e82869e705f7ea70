"""Namespaces and node names."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMESPACE = re.compile(r"/|(/[A-Za-z_][A-Za-z0-9_]*)+")


def prefix_namespace(base: str | None, namespace: str | None) -> str | None:
    """Return the namespace beneath the base, unless it is absolute."""
    if base is None and namespace is None:
        return None
    if namespace is None:
        combined = base or ""
    elif not base or namespace.startswith("/"):
        combined = namespace
    else:
        combined = f"{'' if base == '/' else base}/{namespace}"
    return combined if combined == "/" else combined.rstrip("/")


def make_namespace_absolute(namespace: str | None) -> str | None:
    """Return the namespace with a slash in front."""
    return namespace if namespace is None or namespace.startswith("/") else f"/{namespace}"


def validate_node_name(name: str) -> None:
    """Raise unless the name is one that ROS accepts."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"Invalid node name: '{name}'")


def validate_namespace(namespace: str) -> None:
    """Raise unless the absolute namespace is one that ROS accepts."""
    if not _NAMESPACE.fullmatch(namespace):
        raise ValueError(f"Invalid namespace: '{namespace}'")
