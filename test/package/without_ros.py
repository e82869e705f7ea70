"""Imports every module of rlt_ros but nodes/ while all of ROS is barred, and prints their names."""

from __future__ import annotations

import importlib
import re
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BARRED = re.compile(
    r"(rclpy|\w+_msgs|\w+_interfaces|std_srvs|cv_bridge|launch(_\w+)?|ament_\w+|rosidl_\w+|rpyutils|rlt_ros\.(msg|srv))(\.|$)"
)


class NoRos(MetaPathFinder):
    """Refuses what a machine without ROS does not have."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise for a barred module; leave others to the next finder."""
        if BARRED.match(name):
            raise ModuleNotFoundError(f"No module named {name!r} (barred)", name=name)


def main() -> None:
    """Import and print."""
    sys.meta_path.insert(0, NoRos())
    sys.path.insert(0, str(ROOT))
    for path in sorted((ROOT / "rlt_ros").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[1] == "nodes":
            continue
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        importlib.import_module(name)
        print(name)


if __name__ == "__main__":
    main()
