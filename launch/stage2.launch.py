"""Stage 2: practise the critical phase online with the frozen VLA, the actor, the learner and an operator.

ros2 launch rlt_ros stage2.launch.py                          # simulated Franka, scripted operator
ros2 launch rlt_ros stage2.launch.py robot:=franka checkpoint:=DIR
ros2 launch rlt_ros stage2.launch.py robot:=franka checkpoint:=DIR role:=robot     # on the robot's machine
ros2 launch rlt_ros stage2.launch.py robot:=franka checkpoint:=DIR role:=gpu       # on the machine with the GPU
"""

from datetime import datetime
from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.substitutions import ExecutableInPackage

from launch import LaunchContext, LaunchDescription
from rlt_ros.nodes import launch_parts as parts
from rlt_ros.nodes.launching import (
    ALL_NODES,
    checked_rules,
    chosen_operator,
    new_directory,
    nodes_here,
    own_clock,
    split_notice,
    with_devices,
)
from rlt_ros.nodes.recording import recorder, recording_arguments
from rlt_ros.nodes.respawn import launch_id, when_it_ends
from rlt_ros.rl.trainer import EXIT_CODE
from rlt_ros.token.cache import cached_stage1

ARGUMENTS = [
    parts.robot(),
    parts.task(),
    *parts.person("switches, labels and corrects"),
    parts.referee(),
    DeclareLaunchArgument(
        "fault",
        default_value="",
        description="Simulated faults: kind[/target]@start:seconds[=value], by commas, such as reflex@20:3.",
    ),
    DeclareLaunchArgument(
        "checkpoint", default_value="", description="Stage-1 checkpoint; empty: with robot:=sim trained first."
    ),
    parts.run_dir(),
    DeclareLaunchArgument(
        "resume", default_value="false", choices=["true", "false"], description="Go on in an existing run_dir."
    ),
    *parts.files("stage2.yaml"),
    DeclareLaunchArgument(
        "role",
        default_value="all",
        choices=["all", "robot", "gpu"],
        description="Which nodes run on this machine. robot: all but features and learner; gpu: those two.",
    ),
    DeclareLaunchArgument(
        "nodes", default_value="", description="Instead of a role: the nodes of this machine, with commas between."
    ),
    DeclareLaunchArgument(
        "robots",
        default_value="",
        description="Of role:=gpu: namespaces of the robots that one learner serves, with commas between; empty: one.",
    ),
    *parts.namespaces(),
    parts.seed("start states, VLA, exploration, learner"),
    parts.lockstep("curve"),
    DeclareLaunchArgument(
        "reset",
        default_value="auto",
        choices=["auto", "teleport", "motion"],
        description="How the arm gets to a start state. auto: with robot:=sim teleport; else lift and motion.",
    ),
    DeclareLaunchArgument(
        "practice_minutes", default_value="7.0", description="Practice, in minutes of (simulated or real) robot time."
    ),
    DeclareLaunchArgument("max_episodes", default_value="0", description="Practice episodes at most; 0: no limit."),
    DeclareLaunchArgument(
        "eval_episodes", default_value="50", description="Evaluation episodes of each policy after practice."
    ),
    parts.use_sim_time(),
    DeclareLaunchArgument(
        "autostart",
        default_value="true",
        choices=["true", "false"],
        description="Activate the lifecycle nodes at start; false: by `ros2 lifecycle`.",
    ),
    *recording_arguments(),
    parts.monitor(),
]


def stage2(context: LaunchContext) -> list:
    """The actions of one run, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    here = nodes_here(argument["role"], argument["nodes"], argument["robots"], simulated=argument["robot"] == "sim")
    writes = {"teleop", "learner"} & here
    run_dir = new_run_dir(argument["run_dir"], argument["resume"] == "true") if writes else None
    if argument["checkpoint"]:
        return [run_nodes(argument, argument["checkpoint"], run_dir, here)]
    if argument["robot"] == "franka":
        raise RuntimeError(
            "robot:=franka needs checkpoint:=DIR, a Stage-1 checkpoint trained on this robot's demonstrations: "
            "ros2 run rlt_ros stage1 --help"
        )
    if not here >= ALL_NODES:
        raise RuntimeError(
            "with the nodes on several machines checkpoint:=DIR is needed, a copy of the same Stage-1 checkpoint on "
            "each: ros2 run rlt_ros stage1 --help"
        )
    return train_first(argument, run_dir)


def new_run_dir(path: str, resume: bool) -> Path:
    """The run directory; one that exists is refused here and not after minutes of robot time."""
    return new_directory(path or f"runs/{datetime.now():%Y%m%d-%H%M%S}", resume, ", or go on in it with resume:=true")


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
        return [run_nodes(argument, checkpoint, run_dir, ALL_NODES | {"sim"})]

    return [RegisterEventHandler(OnProcessExit(target_action=training, on_exit=go_on)), training]


def run_nodes(argument: dict[str, str], checkpoint: str, run_dir: Path | None, here: frozenset[str]) -> GroupAction:
    """The nodes of this machine, those of a robot under its namespace."""
    simulated = argument["robot"] == "sim"
    robots = [name.strip() for name in argument["robots"].split(",") if name.strip()]
    shared = parts.common_parameters(argument)
    # Each of several simulated robots has a clock of its own; features and learner need none.
    shared["use_sim_time"] &= not robots
    seed = {"seed": int(argument["seed"])}
    managed = {"autostart": argument["autostart"] == "true"}
    stage1 = {"checkpoint": str(Path(checkpoint).expanduser().resolve())}
    task = {"task": argument["task"] if simulated else ""}
    run = {"run_dir": str(run_dir or "")}
    teleports = argument["reset"] == "teleport" or (argument["reset"] == "auto" and simulated)
    reset = {"reset": "teleport" if teleports else "motion"}
    session = {
        "teleports": teleports,
        "scripted": chosen_operator(argument["operator"], simulated),
        "practice_minutes": float(argument["practice_minutes"]),
        "max_episodes": int(argument["max_episodes"]),
        "eval_episodes": int(argument["eval_episodes"]),
    }
    serving = {"robots": ",".join(robots), "end_with_sessions": "teleop" not in here}
    clock = own_clock(argument["robot_namespace"]) if simulated else []

    node = parts.NodeMaker(argument["params_file"], shared, clock).node

    def vital(name: str, *parameters: dict) -> Node:
        return node(name, *parameters, **when_it_ends(name, shared["lockstep"]))

    # Nothing is lost while the learner is away: rows wait in the actor, and its journal has the rest.
    on_exit = end_if_training_failed if "teleop" in here else end_with_learner
    lives_again = {"respawn": True, "respawn_delay": 1.0, "on_exit": on_exit}
    nodes = {
        "sim": vital("sim", seed, task, {"fault": argument["fault"]}),
        "observation": vital("observation"),
        "actor": vital("actor", managed, seed, stage1),
        "executor": vital("executor", managed, reset),
        "teleop": vital("teleop", seed, run, session, launch_id(shared["lockstep"])),
        "learner": node("learner", managed, seed, stage1, run, serving, **lives_again),
    }
    # Where the person is: on the machine of `teleop`.
    if with_devices(argument["devices"], shared["lockstep"]) and "teleop" in here:
        nodes["input_devices"] = vital("input_devices", {"devices": argument["devices"]})
        here |= {"input_devices"}
    groups = recorder(argument, run_dir / "bag" if run_dir else None)
    groups.append(under(argument["namespace"], [nodes[name] for name in nodes if name in here]))
    if argument["referee"] and "teleop" in here:
        again = {"respawn": True, "respawn_delay": 1.0}
        groups.append(under(argument["namespace"], [node("referee", checked_rules(argument["referee"]), **again)]))
    for number, robot in enumerate(robots or [argument["namespace"]] if "features" in here else []):
        own = {"seed": seed["seed"] + number}
        groups.append(under(robot, [vital("features", managed, own, stage1, task)]))
    groups += parts.monitors(argument, shared["use_sim_time"], run_dir)
    lines = [f"run directory {run_dir}, Stage-1 checkpoint {checkpoint}", split_notice(here)]
    return GroupAction([*(LogInfo(msg=line) for line in lines if line), *groups])


def under(namespace: str, nodes: list[Node]) -> GroupAction:
    """Nodes under a namespace."""
    return GroupAction([PushRosNamespace(namespace), *nodes])


def end_if_training_failed(event, context: LaunchContext) -> None:  # noqa: ANN001 - ProcessExited
    """The arm must not go on with stale weights, and a learner that is started again would fail again."""
    if event.returncode == EXIT_CODE:
        raise RuntimeError("training has failed; the learner's last lines say why")


def end_with_learner(event, context: LaunchContext) -> list:  # noqa: ANN001 - ProcessExited
    """The same on a machine without the operator, where a learner that ends by itself has served its last robot."""
    end_if_training_failed(event, context)
    return [Shutdown(reason="the learner has ended")] if event.returncode == 0 else []


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    return LaunchDescription([*ARGUMENTS, parts.one_thread(), OpaqueFunction(function=stage2)])
