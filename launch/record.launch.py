"""Record a run that is under way, or that is about to begin: the bag, its profile, what was lost.

ros2 launch rlt_ros record.launch.py bag:=bags/monday                           # what is learned from
ros2 launch rlt_ros record.launch.py bag:=bags/monday record_profile:=full      # cameras, robot and commands, too
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from launch import LaunchContext, LaunchDescription
from rlt_ros.nodes.recording import recorder, recording_arguments

ARGUMENTS = [
    DeclareLaunchArgument("bag", description="Bag to create; one that exists gets a number behind its name."),
    DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML); empty: the FR3's."),
    DeclareLaunchArgument("namespace", default_value="rlt", description="Of this package's nodes and topics."),
    DeclareLaunchArgument("robot_namespace", default_value="", description="Namespace of the robot's own topics."),
    *recording_arguments()[1:],
]


def record(context: LaunchContext) -> list:
    """The recorder, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    return recorder(argument | {"record": "true"}, Path(argument["bag"]).expanduser().resolve())


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=record)])
