"""Two children for the tests of process handling; arguments say how they behave."""

from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchDescription


def _second(context):
    settings = {key: context.launch_configurations[key] for key in ("second", "on_exit", "respawns", "output")}
    if settings["second"] == "none":
        return []
    return [Node(
        package="demo_pkg",
        executable="child",
        exec_name="second",
        arguments=[settings["second"]],
        output=settings["output"],
        on_exit=Shutdown(reason="the second has ended") if settings["on_exit"] == "shutdown" else None,
        respawn=int(settings["respawns"]) > 0,
        respawn_delay=0.01,
        respawn_max_retries=int(settings["respawns"]),
    )]  # fmt: skip


def generate_launch_description():
    """Return the children."""
    return LaunchDescription([
        DeclareLaunchArgument("first", default_value="SIGINT", description="the signal at which it ends"),
        DeclareLaunchArgument("second", default_value="none"),
        DeclareLaunchArgument("on_exit", default_value="nothing", choices=["nothing", "shutdown"]),
        DeclareLaunchArgument("respawns", default_value="0"),
        DeclareLaunchArgument("output", default_value="screen"),
        DeclareLaunchArgument("tty", default_value="false"),
        Node(
            package="demo_pkg",
            executable="child",
            exec_name="first",
            arguments=[LaunchConfiguration("first")],
            output="screen",
        ),
        OpaqueFunction(function=_second),
    ])  # fmt: skip
