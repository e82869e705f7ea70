"""Imports every node while optional packages are barred, makes what a run needs, prints what is said to be missing."""

from __future__ import annotations

import importlib
import re
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

BARRED = re.compile(r"(franka_msgs|control_msgs|moveit_msgs)(\.|$)")
ROOT = Path(__file__).resolve().parents[2]


class Barred(MetaPathFinder):
    """Refuses what need not be installed beside ROS."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise for a barred module; leave others to the next finder."""
        if BARRED.match(name):
            raise ModuleNotFoundError(f"No module named {name!r} (barred)", name=name)


def main() -> None:
    """Import, make, print."""
    sys.meta_path.insert(0, Barred())
    for path in sorted((ROOT / "rlt_ros" / "nodes").glob("*.py")):
        importlib.import_module(f"rlt_ros.nodes.{path.stem}")
    import rclpy

    from rlt_ros.nodes.commands import CommandPort
    from rlt_ros.nodes.runtime import BaseNode
    from rlt_ros.robot.config import load_robot, preset_names

    rclpy.init()
    for name in preset_names():
        node = BaseNode("executor")
        print(name, "|", " | ".join(CommandPort(node, load_robot(name)).missing()))
        node.destroy_node()
    sim = importlib.import_module("rlt_ros.nodes.sim").SimNode()
    print("sim", "|", "runs")
    sim.close()
    sim.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
