"""Lifecycle nodes, event handlers, timers, required processes."""

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
    UnregisterEventHandler,
)
from launch.event_handlers import OnExecutionComplete, OnProcessExit, OnProcessIO, OnProcessStart, OnShutdown
from launch.events import matches_action
from launch.events.process import ShutdownProcess
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from lifecycle_msgs.msg import Transition

from launch import LaunchDescription


def _process(name):
    return ExecuteProcess(cmd=["echo", name], name=name)


def _change(node, transition):
    return EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition))


def _exited(event, context):
    return [_process(f"code_{event.returncode}_{context.launch_configurations['mode']}")]


def generate_launch_description():
    """Return all of it."""
    managed = LifecycleNode(package="demo_pkg", executable="talker", name="managed", namespace="", output="screen")
    first, required = _process("first"), Node(package="demo_pkg", executable="talker", on_exit=Shutdown(reason="gone"))
    never = OnProcessExit(target_action=first, on_exit=[_process("never")])
    return LaunchDescription([
        DeclareLaunchArgument("mode", default_value="fast", choices=["fast", "slow"]),
        managed,
        _change(managed, Transition.TRANSITION_CONFIGURE),
        RegisterEventHandler(OnStateTransition(
            target_lifecycle_node=managed, goal_state="inactive",
            entities=[_change(managed, Transition.TRANSITION_ACTIVATE)],
        )),
        RegisterEventHandler(OnProcessStart(target_action=first, on_start=[_process("at_start")])),
        RegisterEventHandler(OnProcessExit(target_action=first, on_exit=_exited)),
        RegisterEventHandler(OnProcessExit(target_action=first, on_exit=[_process("at_exit")], handle_once=True)),
        RegisterEventHandler(OnProcessIO(target_action=first, on_stdout=lambda event: LogInfo(msg="output"))),
        RegisterEventHandler(OnShutdown(on_shutdown=[LogInfo(msg="bye")])),
        RegisterEventHandler(never),
        UnregisterEventHandler(never),
        RegisterEventHandler(OnExecutionComplete(
            target_action=required, on_completion=[_process([LaunchConfiguration("mode"), "_done"])],
        )),
        first,
        required,
        TimerAction(period=60.0, actions=[_process("timed")]),
        EmitEvent(event=ShutdownProcess(process_matcher=matches_action(managed))),
    ])  # fmt: skip
