"""Deployment: evaluation episodes of a learned policy, without learning, and a table of results at the end.

ros2 launch rlt_ros deploy.launch.py policy:=runs/monday/policy.safetensors
ros2 launch rlt_ros deploy.launch.py policy:=FILE robot:=franka checkpoint:=DIR episodes:=50 evaluations:=base,final
"""

from datetime import datetime
from pathlib import Path
from typing import Any

from launch.actions import DeclareLaunchArgument, GroupAction, LogInfo, OpaqueFunction, SetEnvironmentVariable
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from rlt_ros.loop.session import chosen_evaluations
from rlt_ros.nodes.launching import checked_rules, chosen_operator, end_of, new_directory, with_devices
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.token.cache import cached_stage1

TRUTH_VALUES = ["true", "false"]
DEFAULT_PARAMETERS = PathJoinSubstitution([FindPackageShare("rlt_ros"), "config", "stage2.yaml"])

ARGUMENTS = [
    DeclareLaunchArgument("policy", description="policy.safetensors of a run of stage2.launch.py."),
    DeclareLaunchArgument("episodes", default_value="20", description="Episodes of each evaluation."),
    DeclareLaunchArgument(
        "evaluations",
        default_value="final",
        description="On the same starts, with commas between: base, base_with_noise, final, final_with_noise.",
    ),
    DeclareLaunchArgument("robot", default_value="sim", choices=["sim", "franka"], description="Simulated or real."),
    DeclareLaunchArgument(
        "task", default_value=DEFAULT_TASK, choices=list(TASKS), description="Simulated task; of no effect otherwise."
    ),
    DeclareLaunchArgument(
        "operator",
        default_value="auto",
        choices=["auto", "scripted", "person"],
        description="Who switches and labels. auto: a script with robot:=sim, else a person.",
    ),
    DeclareLaunchArgument(
        "devices",
        default_value="",
        description="Input devices of the person: presets of config/operator/devices or files, with commas between.",
    ),
    DeclareLaunchArgument(
        "referee", default_value="", description="Rules (YAML) that begin and label beside the operator; empty: none."
    ),
    DeclareLaunchArgument(
        "checkpoint",
        default_value="",
        description="The run's Stage-1 checkpoint; empty: with robot:=sim the cached one.",
    ),
    DeclareLaunchArgument("run_dir", default_value="", description="New directory for it; empty: runs/<date-time>."),
    DeclareLaunchArgument("params_file", default_value=DEFAULT_PARAMETERS, description="Node parameters (YAML)."),
    DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML); empty: the FR3's."),
    DeclareLaunchArgument("namespace", default_value="rlt", description="Of this package's nodes and topics."),
    DeclareLaunchArgument("robot_namespace", default_value="", description="Namespace of the robot's own topics."),
    DeclareLaunchArgument("seed", default_value="1", description="Of start states, VLA and exploration."),
    DeclareLaunchArgument(
        "lockstep",
        default_value="auto",
        choices=["auto", *TRUTH_VALUES],
        description="Step for step with the simulator. auto: with a scripted operator.",
    ),
    DeclareLaunchArgument(
        "use_sim_time",
        default_value="auto",
        choices=["auto", *TRUTH_VALUES],
        description="Take time from /clock. auto: with robot:=sim.",
    ),
]


def deploy(context: LaunchContext) -> list:
    """The actions of one run, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    policy = Path(argument["policy"]).expanduser().resolve()
    if not policy.is_file():
        raise RuntimeError(f"policy {policy} does not exist: expected the policy.safetensors of a run")
    run_dir = new_directory(argument["run_dir"] or f"runs/{datetime.now():%Y%m%d-%H%M%S}-deploy")
    return [run_nodes(argument, policy, stage1_of(argument), run_dir)]


def stage1_of(argument: dict[str, str]) -> Path:
    """The Stage-1 checkpoint; what is missing is said here and not when the robot is ready."""
    if argument["checkpoint"]:
        return Path(argument["checkpoint"]).expanduser().resolve()
    if argument["robot"] == "franka":
        raise RuntimeError("robot:=franka needs checkpoint:=DIR, the Stage-1 checkpoint that the policy was learned on")
    cached = cached_stage1("demo", seed=0, robot_config=argument["robot_config"], task=argument["task"])
    if not cached.is_dir():
        raise RuntimeError(
            f"no Stage-1 checkpoint at {cached}: name the one that the policy was learned on, checkpoint:=DIR"
        )
    return cached


def run_nodes(argument: dict[str, str], policy: Path, checkpoint: Path, run_dir: Path) -> GroupAction:
    """All nodes of the graph under one namespace."""
    simulated = argument["robot"] == "sim"
    scripted = chosen_operator(argument["operator"], simulated)

    def chosen(name: str, automatic: bool) -> bool:
        return automatic if argument[name] == "auto" else argument[name] == "true"

    shared = {
        "robot_config": argument["robot_config"],
        "robot_namespace": argument["robot_namespace"],
        "lockstep": simulated and chosen("lockstep", scripted),
        "use_sim_time": chosen("use_sim_time", simulated),
    }
    seed, stage1, driven_by = {"seed": int(argument["seed"])}, {"checkpoint": str(checkpoint)}, {"policy": str(policy)}
    task = {"task": argument["task"] if simulated else ""}
    session = {
        "scripted": scripted,
        "eval_episodes": int(argument["episodes"]),
        "evaluations": list(chosen_evaluations([name.strip() for name in argument["evaluations"].split(",")])),
        "run_dir": str(run_dir),
    }

    def node(name: str, *parameters: dict, executable: str = "", **options: Any) -> Node:
        merged = {key: value for part in (shared, *parameters) for key, value in part.items() if value != ""}
        return Node(
            package="rlt_ros",
            executable=executable or name,
            name=name,
            parameters=[argument["params_file"], merged],
            output="screen",
            **options,
        )

    def vital(name: str, *parameters: dict, executable: str = "") -> Node:
        return node(name, *parameters, executable=executable, on_exit=end_of(name))

    nodes = [
        vital("observation"),
        vital("features", seed, stage1, task),
        vital("actor", seed, stage1, driven_by),
        vital("executor", {"reset": "teleport" if simulated else "motion"}),
        vital("teleop", seed, session, driven_by, executable="deploy_teleop"),
    ]
    if simulated:
        nodes.insert(0, vital("sim", seed, task))
    if with_devices(argument["devices"], shared["lockstep"]):
        nodes.append(vital("input_devices", {"devices": argument["devices"]}))
    if argument["referee"]:
        nodes.append(node("referee", checked_rules(argument["referee"]), respawn=True, respawn_delay=1.0))
    said = LogInfo(msg=f"run directory {run_dir}, policy {policy}, Stage-1 checkpoint {checkpoint}")
    return GroupAction([said, PushRosNamespace(argument["namespace"]), *nodes])


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    # Threads of numerical libraries are set explicitly: several processes share few cores.
    threads = SetEnvironmentVariable("OMP_NUM_THREADS", "1")
    return LaunchDescription([*ARGUMENTS, threads, OpaqueFunction(function=deploy)])
