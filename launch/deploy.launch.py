"""Deployment: evaluation episodes of a learned policy, without learning, and a table of results at the end.

ros2 launch rlt_ros deploy.launch.py policy:=runs/monday/policy.safetensors
ros2 launch rlt_ros deploy.launch.py policy:=FILE robot:=franka checkpoint:=DIR episodes:=50 evaluations:=base,final
"""

from datetime import datetime
from pathlib import Path

from launch.actions import DeclareLaunchArgument, GroupAction, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace

from launch import LaunchContext, LaunchDescription
from rlt_ros.loop.session import chosen_evaluations
from rlt_ros.nodes import launch_parts as parts
from rlt_ros.nodes.launching import checked_rules, chosen_operator, end_of, new_directory, with_devices
from rlt_ros.nodes.recording import recorder, recording_arguments
from rlt_ros.token.cache import cached_stage1

ARGUMENTS = [
    DeclareLaunchArgument("policy", description="policy.safetensors of a run of stage2.launch.py."),
    DeclareLaunchArgument("episodes", default_value="20", description="Episodes of each evaluation."),
    DeclareLaunchArgument(
        "evaluations",
        default_value="final",
        description="On the same starts, with commas between: base, base_with_noise, final, final_with_noise.",
    ),
    parts.robot(),
    parts.task(),
    *parts.person("switches and labels"),
    parts.referee(),
    DeclareLaunchArgument(
        "checkpoint",
        default_value="",
        description="The run's Stage-1 checkpoint; empty: with robot:=sim the cached one.",
    ),
    parts.run_dir(),
    *parts.files("stage2.yaml"),
    *parts.namespaces(),
    parts.seed("start states, VLA and exploration"),
    parts.lockstep("results"),
    parts.use_sim_time(),
    *recording_arguments(),
    parts.monitor(),
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
    shared = parts.common_parameters(argument)
    seed, stage1, driven_by = {"seed": int(argument["seed"])}, {"checkpoint": str(checkpoint)}, {"policy": str(policy)}
    task = {"task": argument["task"] if simulated else ""}
    session = {
        "scripted": chosen_operator(argument["operator"], simulated),
        "eval_episodes": int(argument["episodes"]),
        "evaluations": list(chosen_evaluations([name.strip() for name in argument["evaluations"].split(",")])),
        "run_dir": str(run_dir),
    }

    node = parts.NodeMaker(argument["params_file"], shared).node

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
    beside = recorder(argument, run_dir / "bag") + parts.monitors(argument, shared["use_sim_time"], run_dir)
    return GroupAction([said, *beside, PushRosNamespace(argument["namespace"]), *nodes])


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    return LaunchDescription([*ARGUMENTS, parts.one_thread(), OpaqueFunction(function=deploy)])
