"""Look at a run that goes on: markers, RViz, rqt, diagnostics; what is not installed is named and left out.

ros2 launch rlt_ros monitor.launch.py
ros2 launch rlt_ros monitor.launch.py namespace:=left/rlt robot_namespace:=left rqt:=false plotjuggler:=true
"""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from launch import LaunchContext, LaunchDescription
from rlt_ros.nodes.monitoring import TOOLS, Watched, monitor

SHOWN = {"rviz": "true", "rqt": "true", "plotjuggler": "false", "aggregator": "true"}
ARGUMENTS = [
    DeclareLaunchArgument("namespace", default_value="rlt", description="Of the nodes and topics that are looked at."),
    DeclareLaunchArgument("robot_namespace", default_value="", description="Namespace of the robot's own topics."),
    DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML); empty: the FR3's."),
    DeclareLaunchArgument(
        "use_sim_time", default_value="false", choices=["true", "false"], description="Take time from /clock."
    ),
    *(
        DeclareLaunchArgument(
            name, default_value=SHOWN[name], choices=["true", "false"], description=f"Start {tool.package}."
        )
        for name, tool in TOOLS.items()
    ),
]


def start(context: LaunchContext) -> list:
    """The actions, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    watched = Watched(
        argument["namespace"],
        argument["robot_namespace"],
        argument["robot_config"],
        argument["use_sim_time"] == "true",
    )
    return monitor(watched, tuple(name for name in TOOLS if argument[name] == "true"))


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])
