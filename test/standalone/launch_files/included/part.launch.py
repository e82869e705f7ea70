"""Included by everything.launch.py."""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, ThisLaunchFileDir
from launch_ros.actions import Node

from launch import LaunchDescription


def generate_launch_description():
    """Return one node whose name and arguments come from the including file."""
    return LaunchDescription([
        DeclareLaunchArgument("required", description="must be given"),
        DeclareLaunchArgument("own", default_value="default"),
        Node(
            package="demo_pkg",
            executable="talker",
            name=["part_", LaunchConfiguration("required")],
            arguments=[LaunchConfiguration("robot"), LaunchConfiguration("own"), ThisLaunchFileDir()],
        ),
    ])  # fmt: skip
