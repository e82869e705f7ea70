"""A managed node that is configured, activated, and ends the launch once it is active."""

import sys
from pathlib import Path

from launch.actions import EmitEvent, LogInfo, RegisterEventHandler, Shutdown
from launch.events import matches_action
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from lifecycle_msgs.msg import Transition

from launch import LaunchDescription

NODE = Path(__file__).parents[2] / "launch_managed_node.py"


def generate_launch_description():
    """Return the node and what drives it."""
    node = LifecycleNode(
        executable=sys.executable, arguments=[str(NODE)], name="managed", namespace="test", output="screen"
    )

    def change(transition):
        return EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition))

    def when(state, actions):
        return RegisterEventHandler(OnStateTransition(target_lifecycle_node=node, goal_state=state, entities=actions))

    return LaunchDescription([
        node,
        when("inactive", [LogInfo(msg="configured"), change(Transition.TRANSITION_ACTIVATE)]),
        when("active", [LogInfo(msg="activated"), Shutdown()]),
        change(Transition.TRANSITION_CONFIGURE),
    ])  # fmt: skip
