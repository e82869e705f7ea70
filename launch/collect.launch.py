"""Record demonstrations into a LeRobot dataset; docs/collecting.md has the services that begin and label them.

ros2 launch rlt_ros collect.launch.py out:=demos episodes:=50                       # simulated, scripted person
ros2 launch rlt_ros collect.launch.py out:=demos robot:=franka operator:=person     # a person at the arm
"""

from pathlib import Path
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    LogInfo,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.substitutions import FindPackageShare

from launch import LaunchContext, LaunchDescription
from rlt_ros.nodes.launching import chosen_operator, end_of, with_devices
from rlt_ros.nodes.recording import recorder, recording_arguments
from rlt_ros.nodes.respawn import when_it_ends
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS

DEFAULT_PARAMETERS = PathJoinSubstitution([FindPackageShare("rlt_ros"), "config", "collect.yaml"])
TRUTH_VALUES = ["true", "false"]

ARGUMENTS = [
    DeclareLaunchArgument("out", description="Directory of the dataset; an existing one is refused."),
    DeclareLaunchArgument("resume", default_value="false", choices=TRUTH_VALUES, description="Append to out."),
    DeclareLaunchArgument("episodes", default_value="50", description="Saved demonstrations; 0: until Ctrl-C."),
    DeclareLaunchArgument("robot", default_value="sim", choices=["sim", "franka"], description="Simulated or real."),
    DeclareLaunchArgument(
        "operator",
        default_value="auto",
        choices=["auto", "scripted", "person"],
        description="Who demonstrates. auto: scripted with robot:=sim, else a person.",
    ),
    DeclareLaunchArgument(
        "devices",
        default_value="",
        description="Input devices of the person: presets of config/operator/devices or files, with commas between.",
    ),
    DeclareLaunchArgument(
        "demonstrator",
        default_value="task",
        choices=["task", "expert"],
        description="Of the scripted operator: with the errors of the task's demonstrator, or exact.",
    ),
    DeclareLaunchArgument(
        "task", default_value=DEFAULT_TASK, choices=list(TASKS), description="Simulated task; of no effect otherwise."
    ),
    DeclareLaunchArgument("instruction", default_value="insert the peg", description="The task in words."),
    DeclareLaunchArgument(
        "pictures",
        default_value="policy",
        choices=["policy", "full"],
        description="policy: at policy resolution, as PNG. full: as the cameras give them, as video.",
    ),
    DeclareLaunchArgument(
        "keep_failures", default_value="false", choices=TRUTH_VALUES, description="Keep those labelled a failure."
    ),
    DeclareLaunchArgument(
        "reset",
        default_value="auto",
        choices=["auto", *TRUTH_VALUES],
        description="Reset the robot after a label, a real one by lift and motion. auto: with robot:=sim.",
    ),
    DeclareLaunchArgument("params_file", default_value=DEFAULT_PARAMETERS, description="Node parameters (YAML)."),
    DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML); empty: the FR3's."),
    DeclareLaunchArgument("namespace", default_value="rlt", description="Of this package's nodes and topics."),
    DeclareLaunchArgument("robot_namespace", default_value="", description="Namespace of the robot's own topics."),
    DeclareLaunchArgument("seed", default_value="1", description="Of start states and scripted demonstrator."),
    DeclareLaunchArgument(
        "lockstep",
        default_value="auto",
        choices=["auto", *TRUTH_VALUES],
        description="Step for step with the simulator: same seed, same dataset. auto: with a scripted operator.",
    ),
    DeclareLaunchArgument(
        "use_sim_time",
        default_value="auto",
        choices=["auto", *TRUTH_VALUES],
        description="Take time from /clock. auto: with robot:=sim.",
    ),
    *recording_arguments(),
]


def collect(context: LaunchContext) -> list:
    """The actions of one run, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    simulated = argument["robot"] == "sim"
    scripted = chosen_operator(argument["operator"], simulated)
    out = usable_place(argument["out"], argument["resume"] == "true")
    return [run_nodes(argument, out, simulated, scripted)]


def usable_place(path: str, resume: bool) -> Path:
    """The dataset's directory; one that cannot be used is refused here and not when the robot is ready."""
    out = Path(path).expanduser().resolve()
    if out.exists() and not resume:
        raise RuntimeError(f"out {out} exists already: choose another directory, or append to it with resume:=true")
    if resume and not (out / "meta" / "info.json").exists():
        raise RuntimeError(f"out {out} holds no dataset: there is nothing to resume")
    return out


def run_nodes(argument: dict[str, str], out: Path, simulated: bool, scripted: bool) -> GroupAction:
    """All nodes of the graph under one namespace."""

    def chosen(name: str, automatic: bool) -> bool:
        return automatic if argument[name] == "auto" else argument[name] == "true"

    shared = {
        "robot_config": argument["robot_config"],
        "robot_namespace": argument["robot_namespace"],
        "lockstep": simulated and chosen("lockstep", scripted),
        "use_sim_time": chosen("use_sim_time", simulated),
    }
    seed = {"seed": int(argument["seed"])}
    task = {"task": argument["task"]} if simulated else {}
    session = {"scripted": scripted, "reset": chosen("reset", simulated), "teleports": simulated}
    script = {"demonstrator": argument["demonstrator"], **task} if scripted else {}
    recording = {
        "out": str(out),
        "resume": argument["resume"] == "true",
        "episodes": int(argument["episodes"]),
        "instruction": argument["instruction"],
        "keep_failures": argument["keep_failures"] == "true",
        "full_pictures": argument["pictures"] == "full",
        "storage": {"policy": "image", "full": "video"}[argument["pictures"]],
        "end_on_failure": scripted,
    }

    def node(executable: str, name: str, *parameters: dict, **options: Any) -> Node:
        merged = {key: value for part in (shared, *parameters) for key, value in part.items() if value != ""}
        return Node(
            package="rlt_ros",
            executable=executable,
            name=name,
            parameters=[argument["params_file"], merged],
            output="screen",
            **options,
        )

    def vital(name: str, *parameters: dict, executable: str = "") -> Node:
        return node(executable or name, name, *parameters, on_exit=end_of(name))

    nodes = [
        vital("observation"),
        vital("executor", {"reset": "teleport" if simulated else "motion"}),
        vital("teleop", seed, session, script, executable="collect_teleop"),
        node("collector", "collector", recording, on_exit=end_of_recording),
    ]
    if with_devices(argument["devices"], shared["lockstep"]):
        devices = {"devices": argument["devices"]}
        nodes.append(node("input_devices", "input_devices", devices, **when_it_ends("input_devices", lockstep=False)))
    if simulated:
        nodes.insert(0, vital("sim", seed, task))
    recording_of_all = recorder(argument, out.with_name(f"{out.name}_bag"))
    told = LogInfo(msg=f"dataset {out}")
    return GroupAction([told, *recording_of_all, PushRosNamespace(argument["namespace"]), *nodes])


def end_of_recording(event, context: LaunchContext) -> list:  # noqa: ANN001 - ProcessExited
    """Without the collector there is nothing to do; one that failed makes the run fail."""
    if event.returncode != 0:
        raise RuntimeError("nothing was recorded any more; the collector's last lines say why")
    return [Shutdown(reason="recording has ended")]


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    # Threads of numerical libraries are set explicitly: several processes share few cores.
    threads = SetEnvironmentVariable("OMP_NUM_THREADS", "1")
    return LaunchDescription([*ARGUMENTS, threads, OpaqueFunction(function=collect)])
