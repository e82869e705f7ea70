"""Arguments and nodes that the launch files of Stage 2, of recording and of deployment have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from launch.actions import DeclareLaunchArgument, SetEnvironmentVariable
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from rlt_ros.nodes import monitoring
from rlt_ros.nodes.launching import chosen_operator
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS

TRUTH_VALUES = ["true", "false"]


def robot() -> DeclareLaunchArgument:
    """Simulated or real."""
    return DeclareLaunchArgument(
        "robot", default_value="sim", choices=["sim", "franka"], description="Simulated or real."
    )


def task() -> DeclareLaunchArgument:
    """What is simulated."""
    return DeclareLaunchArgument(
        "task", default_value=DEFAULT_TASK, choices=list(TASKS), description="Simulated task; of no effect otherwise."
    )


def person(does: str) -> list[DeclareLaunchArgument]:
    """Who operates, and with what. does: what it is that they do, in words."""
    devices = "Input devices of the person: presets of config/operator/devices or files, with commas between."
    return [
        DeclareLaunchArgument(
            "operator",
            default_value="auto",
            choices=["auto", "scripted", "person"],
            description=f"Who {does}. auto: a script with robot:=sim, else a person.",
        ),
        DeclareLaunchArgument("devices", default_value="", description=devices),
    ]


def referee() -> DeclareLaunchArgument:
    """Rules beside the person."""
    return DeclareLaunchArgument(
        "referee", default_value="", description="Rules (YAML) that begin and label beside the operator; empty: none."
    )


def run_dir() -> DeclareLaunchArgument:
    """Where the run's files go."""
    return DeclareLaunchArgument(
        "run_dir", default_value="", description="New directory for it; empty: runs/<date-time>."
    )


def files(parameters: str) -> list[DeclareLaunchArgument]:
    """Files of parameters. parameters: of the nodes, by default, in config/."""
    default = PathJoinSubstitution([FindPackageShare("rlt_ros"), "config", parameters])
    return [
        DeclareLaunchArgument("params_file", default_value=default, description="Node parameters (YAML)."),
        DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML); empty: the FR3's."),
    ]


def namespaces() -> list[DeclareLaunchArgument]:
    """Of this package and of the robot."""
    own, robots = "Of this package's nodes and topics.", "Namespace of the robot's own topics."
    return [
        DeclareLaunchArgument("namespace", default_value="rlt", description=own),
        DeclareLaunchArgument("robot_namespace", default_value="", description=robots),
    ]


def seed(of: str) -> DeclareLaunchArgument:
    """The seed. of: what it decides."""
    return DeclareLaunchArgument("seed", default_value="1", description=f"Of {of}.")


def lockstep(what_for: str) -> DeclareLaunchArgument:
    """Lockstep or real time. what_for: what the same seed then gives."""
    return DeclareLaunchArgument(
        "lockstep",
        default_value="auto",
        choices=["auto", *TRUTH_VALUES],
        description=f"Step for step with the simulator: same seed, same {what_for}. auto: with a scripted operator.",
    )


def use_sim_time() -> DeclareLaunchArgument:
    """Whose clock."""
    return DeclareLaunchArgument(
        "use_sim_time",
        default_value="auto",
        choices=["auto", *TRUTH_VALUES],
        description="Take time from /clock. auto: with robot:=sim.",
    )


def monitor() -> DeclareLaunchArgument:
    """Whether and with what the run is looked at."""
    return DeclareLaunchArgument(
        "monitor",
        default_value="false",
        choices=list(monitoring.CHOICES),
        description="true: markers, RViz and rqt, as monitor.launch.py; rerun: the Rerun viewer, recorded in run_dir.",
    )


def monitors(argument: Mapping[str, str], sim_time: bool, where: Path | None) -> list[Any]:
    """What `monitor` asks for. where: the run directory, None where this machine keeps none."""
    names = (argument["namespace"], argument["robot_namespace"], argument["robot_config"])
    return monitoring.chosen(argument["monitor"], monitoring.Watched(*names, sim_time), where)


def one_thread() -> SetEnvironmentVariable:
    """Threads of numerical libraries are set explicitly: several processes share few cores."""
    return SetEnvironmentVariable("OMP_NUM_THREADS", "1")


def chosen(value: str, automatic: bool) -> bool:
    """Of an argument with the choices auto, true and false."""
    return automatic if value == "auto" else value == "true"


def common_parameters(argument: Mapping[str, str]) -> dict[str, Any]:
    """Parameters that every node gets. Raises RuntimeError where the operator cannot be whom they name."""
    simulated = argument["robot"] == "sim"
    scripted = chosen_operator(argument["operator"], simulated)
    return {
        "robot_config": argument["robot_config"],
        "robot_namespace": argument["robot_namespace"],
        "lockstep": simulated and chosen(argument["lockstep"], scripted),
        "use_sim_time": chosen(argument["use_sim_time"], simulated),
    }


class NodeMaker:
    """Nodes of this package. params_file: their parameters. shared: parameters of all, which come before those; empty
    values are none. remappings: of all."""

    def __init__(self, params_file: str, shared: Mapping[str, Any], remappings: Sequence[tuple[str, str]] = ()) -> None:
        self._params_file, self._shared, self._remappings = params_file, shared, list(remappings)

    def node(self, name: str, *parameters: Mapping[str, Any], executable: str = "", **options: Any) -> Node:
        """A node. executable: where it is not its name. options: of `launch_ros.actions.Node`."""
        parts = (self._shared, *parameters)
        merged = {key: value for part in parts for key, value in part.items() if value != ""}
        return Node(
            package="rlt_ros",
            executable=executable or name,
            name=name,
            parameters=[self._params_file, merged],
            remappings=self._remappings,
            output="screen",
            **options,
        )
