"""Stage 2: practise the critical phase online with the frozen VLA, the actor, the learner and an operator.

ros2 launch rlt_ros stage2.launch.py                          # simulated Franka, scripted operator
ros2 launch rlt_ros stage2.launch.py robot:=franka checkpoint:=DIR
"""

from datetime import datetime
from pathlib import Path
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.substitutions import ExecutableInPackage, FindPackageShare

from launch import LaunchContext, LaunchDescription
from rlt_ros.nodes.respawn import launch_id, when_it_ends
from rlt_ros.rl.trainer import EXIT_CODE
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.token.cache import cached_stage1

DEFAULT_PARAMETERS = PathJoinSubstitution([FindPackageShare("rlt_ros"), "config", "stage2.yaml"])

ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="sim", choices=["sim", "franka"], description="Simulated or real."),
    DeclareLaunchArgument(
        "task", default_value=DEFAULT_TASK, choices=list(TASKS), description="Simulated task; of no effect otherwise."
    ),
    DeclareLaunchArgument(
        "fault",
        default_value="",
        description="Simulated faults: kind[/target]@start:seconds[=value], by commas, such as reflex@20:3.",
    ),
    DeclareLaunchArgument(
        "checkpoint", default_value="", description="Stage-1 checkpoint; empty: with robot:=sim trained first."
    ),
    DeclareLaunchArgument("run_dir", default_value="", description="New directory for it; empty: runs/<date-time>."),
    DeclareLaunchArgument(
        "resume", default_value="false", choices=["true", "false"], description="Go on in an existing run_dir."
    ),
    DeclareLaunchArgument("params_file", default_value=DEFAULT_PARAMETERS, description="Node parameters (YAML)."),
    DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML); empty: the FR3's."),
    DeclareLaunchArgument("namespace", default_value="rlt", description="Of this package's nodes and topics."),
    DeclareLaunchArgument("robot_namespace", default_value="", description="Namespace of the robot's own topics."),
    DeclareLaunchArgument("seed", default_value="1", description="Of start states, VLA, exploration, learner."),
    DeclareLaunchArgument(
        "lockstep",
        default_value="auto",
        choices=["auto", "true", "false"],
        description="Step for step with the simulator: same seed, same curve. auto: with robot:=sim.",
    ),
    DeclareLaunchArgument(
        "practice_minutes", default_value="7.0", description="Practice, in minutes of (simulated or real) robot time."
    ),
    DeclareLaunchArgument("max_episodes", default_value="0", description="Practice episodes at most; 0: no limit."),
    DeclareLaunchArgument(
        "eval_episodes", default_value="50", description="Evaluation episodes of each policy after practice."
    ),
    DeclareLaunchArgument(
        "use_sim_time",
        default_value="auto",
        choices=["auto", "true", "false"],
        description="Take time from /clock. auto: with robot:=sim.",
    ),
    DeclareLaunchArgument(
        "autostart",
        default_value="true",
        choices=["true", "false"],
        description="Activate the lifecycle nodes at start; false: by `ros2 lifecycle`.",
    ),
]


def stage2(context: LaunchContext) -> list:
    """The actions of one run, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    run_dir = new_run_dir(argument["run_dir"], argument["resume"] == "true")
    if argument["checkpoint"]:
        return [run_nodes(argument, argument["checkpoint"], run_dir)]
    if argument["robot"] == "franka":
        raise RuntimeError(
            "robot:=franka needs checkpoint:=DIR, a Stage-1 checkpoint trained on this robot's demonstrations: "
            "ros2 run rlt_ros stage1 --help"
        )
    return train_first(argument, run_dir)


def new_run_dir(path: str, resume: bool) -> Path:
    """The run directory; one that exists is refused here and not after minutes of robot time."""
    run_dir = Path(path or f"runs/{datetime.now():%Y%m%d-%H%M%S}").expanduser().resolve()
    if run_dir.exists() and any(run_dir.iterdir()) and not resume:
        raise RuntimeError(f"run_dir {run_dir} exists already: choose another one, or go on in it with resume:=true")
    if resume and not run_dir.is_dir():
        raise RuntimeError(f"run_dir {run_dir} does not exist: there is nothing to resume")
    run_dir.mkdir(parents=True, exist_ok=True)
    return run_dir


def train_first(argument: dict[str, str], run_dir: Path) -> list:
    """Stage 1 on simulated demonstrations, unless its result is cached, then the nodes."""
    robot_config, task = argument["robot_config"], argument["task"]
    checkpoint = str(cached_stage1("demo", seed=0, robot_config=robot_config, task=task))
    options = ["--task", task, *(["--robot-config", robot_config] if robot_config else [])]
    training = ExecuteProcess(
        cmd=[ExecutableInPackage(executable="stage1", package="rlt_ros"), "--preset", "demo", *options],
        name="stage1",
        output="screen",
    )

    def go_on(event, context: LaunchContext) -> list:  # noqa: ANN001 - ProcessExited
        if context.is_shutdown:
            return []
        if event.returncode != 0:
            raise RuntimeError(f"stage1 failed with exit code {event.returncode}; its last lines say why")
        return [run_nodes(argument, checkpoint, run_dir)]

    return [RegisterEventHandler(OnProcessExit(target_action=training, on_exit=go_on)), training]


def run_nodes(argument: dict[str, str], checkpoint: str, run_dir: Path) -> GroupAction:
    """All nodes of the graph under one namespace."""
    simulated = argument["robot"] == "sim"
    shared = {
        "robot_config": argument["robot_config"],
        "robot_namespace": argument["robot_namespace"],
        "lockstep": simulated and argument["lockstep"] != "false",
        "use_sim_time": simulated if argument["use_sim_time"] == "auto" else argument["use_sim_time"] == "true",
    }
    seed = {"seed": int(argument["seed"])}
    managed = {"autostart": argument["autostart"] == "true"}
    stage1 = {"checkpoint": str(Path(checkpoint).expanduser().resolve())}
    task = {"task": argument["task"] if simulated else ""}
    run = {"run_dir": str(run_dir)}
    session = {
        "scripted": simulated,
        "practice_minutes": float(argument["practice_minutes"]),
        "max_episodes": int(argument["max_episodes"]),
        "eval_episodes": int(argument["eval_episodes"]),
    }

    def node(name: str, *parameters: dict, **options: Any) -> Node:
        merged = {key: value for part in (shared, *parameters) for key, value in part.items() if value != ""}
        return Node(
            package="rlt_ros",
            executable=name,
            name=name,
            parameters=[argument["params_file"], merged],
            output="screen",
            **options,
        )

    def vital(name: str, *parameters: dict) -> Node:
        return node(name, *parameters, **when_it_ends(name, shared["lockstep"]))

    nodes = [
        vital("observation"),
        vital("features", managed, seed, stage1, task),
        vital("actor", managed, seed, stage1),
        vital("executor", managed),
        vital("teleop", seed, run, session, launch_id(shared["lockstep"])),
        # Nothing is lost while it is away: rows wait in the actor, and its journal has the rest.
        node("learner", managed, seed, stage1, run, respawn=True, respawn_delay=1.0, on_exit=end_if_training_failed),
    ]
    if simulated:
        nodes.insert(0, vital("sim", seed, task, {"fault": argument["fault"]}))
    say = LogInfo(msg=f"run directory {run_dir}, Stage-1 checkpoint {checkpoint}")
    return GroupAction([say, PushRosNamespace(argument["namespace"]), *nodes])


def end_if_training_failed(event, context: LaunchContext) -> None:  # noqa: ANN001 - ProcessExited
    """The arm must not go on with stale weights, and a learner that is started again would fail again."""
    if event.returncode == EXIT_CODE:
        raise RuntimeError("training has failed; the learner's last lines say why")


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    # Threads of numerical libraries are set explicitly: several processes share few cores.
    threads = SetEnvironmentVariable("OMP_NUM_THREADS", "1")
    return LaunchDescription([*ARGUMENTS, threads, OpaqueFunction(function=stage2)])
