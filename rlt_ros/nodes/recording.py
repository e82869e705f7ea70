"""What launch files share that record their run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare

PROFILES = ("learning", "full")
COUNTING_TIME = 300.0
"""Seconds that the recorder may take to close its bag and to count what is in it, before launch loses patience."""


def recording_arguments() -> list[DeclareLaunchArgument]:
    """Launch arguments of a recording, the first of them whether there is to be one."""
    return [
        DeclareLaunchArgument(
            "record", default_value="false", choices=["true", "false"], description="Record the run to a bag."
        ),
        DeclareLaunchArgument(
            "record_profile", default_value="learning", description="Topics: learning, full, or a YAML file."
        ),
        DeclareLaunchArgument(
            "record_floor_gb", default_value="2.0", description="Free space [GB] below which recording stops."
        ),
    ]


def recorder(argument: Mapping[str, str], bag: Path | None) -> list[ExecuteProcess]:
    """The recorder of a run, if one is wanted. bag: where to, None where this machine keeps no files of the run.

    However it ends, the run goes on: nothing is told to happen at its exit.
    """
    if argument["record"] != "true" or bag is None:
        return []
    options = {
        "--out": str(free_name(bag)),
        "--profile": profile_file(argument["record_profile"]),
        "--robot-config": argument["robot_config"],
        "--namespace": argument["namespace"],
        "--robot-namespace": argument["robot_namespace"],
        "--floor-gb": argument["record_floor_gb"],
    }
    words = [word for name, value in options.items() if value != "" for word in (name, value)]
    return [
        ExecuteProcess(
            cmd=[ExecutableInPackage(executable="record", package="rlt_ros"), *words],
            name="record",
            output="screen",
            sigterm_timeout=str(COUNTING_TIME),
        )
    ]


def profile_file(name: str) -> str | PathJoinSubstitution:
    """The file of a profile. Raises RuntimeError on a name that is neither a profile's nor a file's."""
    if name in PROFILES:
        return PathJoinSubstitution([FindPackageShare("rlt_ros"), "config", "record", f"{name}.yaml"])
    if not Path(name).is_file():
        raise RuntimeError(f"record_profile:={name} is no file; expected one, or {' or '.join(PROFILES)}")
    return name


def free_name(bag: Path) -> Path:
    """The bag's path, or with a number behind it where an earlier part of the run has one already."""
    number, path = 1, bag
    while path.exists():
        number += 1
        path = bag.with_name(f"{bag.name}_{number}")
    return path
