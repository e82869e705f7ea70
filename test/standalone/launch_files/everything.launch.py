"""Arguments, conditions, groups, namespaces, remappings, parameters, includes, environment."""

from pathlib import Path

from launch.actions import (
    AppendEnvironmentVariable,
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    PopLaunchConfigurations,
    PushLaunchConfigurations,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    UnsetEnvironmentVariable,
    UnsetLaunchConfiguration,
)
from launch.conditions import IfCondition, LaunchConfigurationEquals, LaunchConfigurationNotEquals, UnlessCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import (
    AllSubstitution,
    AndSubstitution,
    AnySubstitution,
    EnvironmentVariable,
    EqualsSubstitution,
    FindExecutable,
    IfElseSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    NotSubstitution,
    OrSubstitution,
    PathJoinSubstitution,
    PythonExpression,
    TextSubstitution,
    ThisLaunchFileDir,
)
from launch_ros.actions import (
    Node,
    PushRosNamespace,
    SetParameter,
    SetParametersFromFile,
    SetRemap,
)
from launch_ros.descriptions import Parameter
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue
from launch_ros.substitutions import ExecutableInPackage, FindPackagePrefix, FindPackageShare

from launch import LaunchDescription

HERE = Path(__file__).parent


def _node(name, **kwargs):
    return Node(package="demo_pkg", executable="talker", name=name, **kwargs)


def _arguments():
    return [
        DeclareLaunchArgument("robot", default_value="franka", choices=["franka", "sim"], description="Which robot"),
        DeclareLaunchArgument("ns", default_value="arm", description="A namespace."),
        DeclareLaunchArgument("record", default_value="false", choices=["true", "false"]),
        DeclareLaunchArgument("rate", default_value="50"),
        DeclareLaunchArgument("folder", default_value=PathJoinSubstitution([ThisLaunchFileDir(), "x"])),
    ]


def _parameter_nodes():
    rate = LaunchConfiguration("rate")
    values = {
        "text": "a: b",
        "empty": "",
        "number_like": "12",
        "flag": True,
        "count": 3,
        "gain": 0.5,
        "rate": rate,
        "rate_text": ParameterValue(rate, value_type=str),
        "rate_float": ParameterValue(rate, value_type=float),
        "flag_text": ParameterValue(LaunchConfiguration("record"), value_type=bool),
        "joined": ["prefix_", rate],
        "names": ["a", "1", "c"],
        "numbers": [1, 2.5],
        "integers": [1, 2],
        "typed_list": ParameterValue([1.0, 2.0], value_type=list[float]),
        "from_yaml": ParameterValue("[1, 2]"),
        "nested": {"deep": {"x": 1, rate: "key from a substitution"}},
    }
    return [
        _node("parameters", parameters=[HERE / "demo.yaml", values, {"count": 4}]),
        _node(
            "files",
            parameters=[
                PathJoinSubstitution([FindPackageShare("demo_pkg"), "config", "demo.yaml"]),
                ParameterFile(HERE / "substituted.yaml", allow_substs=True),
                "/nowhere/missing.yaml",
                Parameter("single", 7),
            ],
        ),  # fmt: skip
        Node(package="demo_pkg", executable="talker", parameters=[{"wildcard": 1}]),
        _node("absolute", namespace="/abs", parameters=[{"a": 1}]),
    ]


def _conditions():
    record, robot = LaunchConfiguration("record"), LaunchConfiguration("robot")
    is_sim = EqualsSubstitution(robot, "sim")
    conditions = {
        "if": IfCondition(record),
        "unless": UnlessCondition(record),
        "equals": IfCondition(is_sim),
        "differs": IfCondition(NotEqualsSubstitution(robot, "sim")),
        "not": IfCondition(NotSubstitution(record)),
        "and": IfCondition(AndSubstitution(record, is_sim)),
        "or": IfCondition(OrSubstitution(record, is_sim)),
        "any": IfCondition(AnySubstitution(record, is_sim, "false")),
        "all": IfCondition(AllSubstitution(record, "true")),
        "python": IfCondition(PythonExpression(["'", robot, "' == 'sim' and ", LaunchConfiguration("rate"), " > 10"])),
        "config": LaunchConfigurationEquals("robot", "sim"),
        "config_not": LaunchConfigurationNotEquals("robot", "sim"),
        "unset": LaunchConfigurationEquals("nothing", None),
        "number": IfCondition(EqualsSubstitution(LaunchConfiguration("rate"), 50.0)),
    }
    return [_node(f"c_{name}", condition=condition) for name, condition in conditions.items()]


def _scopes():
    return [
        SetParameter("scoped", 1),
        SetRemap("/chatter", "/everywhere"),
        GroupAction(
            [
                PushRosNamespace(LaunchConfiguration("ns")),
                PushRosNamespace("left"),
                SetParameter("scoped_text", TextSubstitution(text="hello")),
                SetParametersFromFile(str(HERE / "demo.yaml")),
                SetEnvironmentVariable("IN_GROUP", "yes"),
                _node("inside", namespace="deep", remappings=[("chatter", "~/private"), (["a", "b"], "c")]),
                _node("own_wins", parameters=[{"scoped": 2}]),
                Node(package="demo_pkg", executable="talker"),
            ]
        ),  # fmt: skip
        GroupAction([_node("set_in_group")], launch_configurations={"ns": "other"}),
        GroupAction([_node("unforwarded")], forwarding=False, launch_configurations={"ns": "other"}),
        GroupAction([SetLaunchConfiguration("leaks", "1")], scoped=False),
        _node("leaked", condition=LaunchConfigurationEquals("leaks", "1")),
        GroupAction([_node("never")], condition=IfCondition("false")),
        PushLaunchConfigurations(),
        SetLaunchConfiguration("ns", "pushed"),
        _node([LaunchConfiguration("ns"), "_name"]),
        UnsetLaunchConfiguration("ns"),
        _node(LaunchConfiguration("ns", default="default_name")),
        PopLaunchConfigurations(),
        _node(LaunchConfiguration("ns")),
    ]


def _environment():
    return [
        SetEnvironmentVariable("SET", ["robot_", LaunchConfiguration("robot")]),
        UnsetEnvironmentVariable("DEMO_REMOVED"),
        AppendEnvironmentVariable("DEMO_LIST", "tail"),
        AppendEnvironmentVariable("DEMO_LIST", "head", prepend=True),
        ExecuteProcess(
            cmd=["echo", EnvironmentVariable("SET"), EnvironmentVariable("NOT_SET", default_value="fallback")],
            additional_env={"ADDED": LaunchConfiguration("rate")},
            cwd="/",
        ),
        ExecuteProcess(cmd=["env"], env={"ONLY": "this"}, name="alone"),
        ExecuteProcess(cmd=[FindExecutable(name="sh"), "-c", "true"], prefix="nice -n 1"),
    ]


def _included():
    path = PathJoinSubstitution([ThisLaunchFileDir(), "included", "part.launch.py"])
    return [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(path),
            launch_arguments={"required": "given", "robot": LaunchConfiguration("robot")}.items(),
        ),
        GroupAction(
            [
                IncludeLaunchDescription(
                    str(HERE / "included" / "part.launch.py"), launch_arguments=[("required", "again"), ("own", "mine")]
                ),
            ]
        ),  # fmt: skip
        _node("after_include", arguments=[LaunchConfiguration("own", default="none")]),
    ]


def _opaque(context, suffix):
    robot = context.perform_substitution(LaunchConfiguration("robot"))
    return [_node(f"opaque_{robot}{suffix}", arguments=[context.launch_configurations["rate"]])]


def generate_launch_description():
    """Return all of it."""
    return LaunchDescription([
        *_arguments(),
        LogInfo(msg=["robot: ", LaunchConfiguration("robot")]),
        _node("plain", arguments=["--flag", LaunchConfiguration("folder")], ros_arguments=["--log-level", "debug"]),
        _node("labelled", exec_name="label", prefix="nice", output="screen", respawn=True, respawn_delay=1.0),
        Node(executable="/bin/echo", arguments=["no package"]),
        ExecuteProcess(cmd=[ExecutableInPackage("talker", "demo_pkg"), FindPackagePrefix("demo_pkg")]),
        *_parameter_nodes(),
        *_conditions(),
        *_scopes(),
        *_environment(),
        *_included(),
        OpaqueFunction(function=_opaque, args=["_x"]),
        _node(IfElseSubstitution(LaunchConfiguration("record"), "recording", "idle")),
    ])  # fmt: skip
