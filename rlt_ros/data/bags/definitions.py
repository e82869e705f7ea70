"""Message definitions for bags that carry none: the standard ones, and this package's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rlt_ros.data.bags.extras import typesys


def typestore() -> Any:
    """ROS 2 Jazzy's standard messages and those of msg/, where that folder is found."""
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    folder = message_folder()
    if folder is not None:
        store.register(own_types(folder))
    return store


def own_types(folder: Path) -> dict[str, Any]:
    """Definitions of a folder's .msg files, by "rlt_ros/msg/<name>"."""
    types: dict[str, Any] = {}
    for path in sorted(folder.glob("*.msg")):
        types |= typesys.get_types_from_msg(path.read_text(), f"rlt_ros/msg/{path.stem}")
    return types


def message_folder() -> Path | None:
    """msg/ of the checkout, or of the ROS workspace that the package is installed in."""
    checkout = Path(__file__).parents[3] / "msg"
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    folders = [checkout, *(prefix / "share" / "rlt_ros" / "msg" for prefix in prefixes)]
    return next((folder for folder in folders if (folder / "Observation.msg").exists()), None)
