"""What launch files start for whoever watches: markers, RViz, rqt, PlotJuggler, aggregated diagnostics, Rerun."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory
from launch.actions import GroupAction, LogInfo
from launch_ros.actions import Node, PushRosNamespace

from rlt_ros.monitor.names import renamed
from rlt_ros.robot.config import load_robot

CHOICES = ("false", "true", "rerun")
"""Of the argument `monitor`: nothing; RViz, rqt and the aggregator; the Rerun viewer and a recording."""


@dataclass(frozen=True)
class Tool:
    """A program of a ROS distribution. arguments: FILE stands for the view's file. graphical: it needs a display.
    needs: further packages without which a part of its view stays empty.
    """

    package: str
    executable: str
    view: str
    arguments: tuple[str, ...]
    graphical: bool = True
    needs: tuple[str, ...] = ()


RQT_PARTS = ("rqt_plot", "rqt_image_view", "rqt_robot_monitor", "rqt_reconfigure")
TOOLS: Mapping[str, Tool] = {
    "rviz": Tool("rviz2", "rviz2", "rlt.rviz", ("-d", "FILE")),
    "rqt": Tool("rqt_gui", "rqt_gui", "rlt.perspective", ("--perspective-file", "FILE"), needs=RQT_PARTS),
    "plotjuggler": Tool("plotjuggler", "plotjuggler", "plotjuggler.xml", ("-l", "FILE"), needs=("plotjuggler_ros",)),
    "aggregator": Tool("diagnostic_aggregator", "aggregator_node", "diagnostics.yaml", (), graphical=False),
}


@dataclass(frozen=True)
class Watched:
    """Whom to watch."""

    namespace: str
    robot_namespace: str
    robot_config: str
    use_sim_time: bool


def monitor(watched: Watched, tools: tuple[str, ...] = ("rviz", "rqt", "aggregator")) -> list:
    """The markers node and the tools that are installed; for each that is not, a line that says how to install it."""
    return [_under(watched, "markers"), *(action for name in tools for action in _tool(watched, TOOLS[name]))]


def rerun(watched: Watched, run_dir: Path | None) -> list:
    """The node that feeds the Rerun viewer and writes a recording into the run directory."""
    return [_under(watched, "viewer", run_dir=str(run_dir or ""))]


def chosen(choice: str, watched: Watched, run_dir: Path | None) -> list:
    """What a value of the argument `monitor` starts."""
    if choice == "true":
        return monitor(watched)
    return rerun(watched, run_dir) if choice == "rerun" else []


def _under(watched: Watched, name: str, **parameters: str) -> GroupAction:
    values = {"robot_config": watched.robot_config, "robot_namespace": watched.robot_namespace, **parameters}
    merged = {key: value for key, value in values.items() if value} | {"use_sim_time": watched.use_sim_time}
    node = Node(package="rlt_ros", executable=name, name=name, parameters=[merged], output="screen")
    return GroupAction([PushRosNamespace(watched.namespace), node])


def _tool(watched: Watched, tool: Tool) -> list:
    missing = [package for package in (tool.package, *tool.needs) if not _installed(package)]
    lines = [LogInfo(msg=f"{package} is not installed: apt install {_apt(package)}") for package in missing]
    if tool.package in missing:
        return [*lines, LogInfo(msg=f"going on without {tool.package}")]
    if tool.graphical and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return [*lines, LogInfo(msg=f"going on without {tool.package}: neither DISPLAY nor WAYLAND_DISPLAY is set")]
    file = view_file(tool.view, watched)
    parameters = [{"use_sim_time": watched.use_sim_time}] if tool.graphical else [str(file)]
    arguments = [str(file) if argument == "FILE" else argument for argument in tool.arguments]
    name = {} if tool.graphical else {"name": "analyzers"}
    node = Node(package=tool.package, executable=tool.executable, arguments=arguments, parameters=parameters, **name)
    return [*lines, node]


def view_file(view: str, watched: Watched) -> Path:
    """A shipped view with the names of the watched robot in it, in a directory of its own that stays."""
    shipped = Path(get_package_share_directory("rlt_ros"), "config", "monitor", view).read_text()
    path = Path(tempfile.mkdtemp(prefix="rlt_monitor_"), view)
    robot = load_robot(watched.robot_config)
    path.write_text(renamed(shipped, robot, watched.namespace, watched.robot_namespace))
    return path


def _installed(package: str) -> bool:
    try:
        get_package_prefix(package)
    except PackageNotFoundError:
        return False
    return True


def _apt(package: str) -> str:
    return f"ros-{os.environ.get('ROS_DISTRO', 'DISTRO')}-{package.replace('_', '-')}"
