"""Record demonstrations into a LeRobot dataset; docs/collecting.md has the services that begin and label them.

ros2 launch rlt_ros collect.launch.py out:=demos episodes:=50                       # simulated, scripted person
ros2 launch rlt_ros collect.launch.py out:=demos robot:=franka operator:=person     # a person at the arm
"""

from pathlib import Path

from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    LogInfo,
    OpaqueFunction,
    Shutdown,
)
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace

from launch import LaunchContext, LaunchDescription
from rlt_ros.nodes import launch_parts as parts
from rlt_ros.nodes.launching import chosen_operator, end_of, with_devices
from rlt_ros.nodes.recording import recorder, recording_arguments
from rlt_ros.nodes.respawn import when_it_ends

ARGUMENTS = [
    DeclareLaunchArgument("out", description="Directory of the dataset; an existing one is refused."),
    DeclareLaunchArgument("resume", default_value="false", choices=parts.TRUTH_VALUES, description="Append to out."),
    DeclareLaunchArgument("episodes", default_value="50", description="Saved demonstrations; 0: until Ctrl-C."),
    parts.robot(),
    *parts.person("demonstrates"),
    DeclareLaunchArgument(
        "demonstrator",
        default_value="task",
        choices=["task", "expert"],
        description="Of the scripted operator: with the errors of the task's demonstrator, or exact.",
    ),
    parts.task(),
    DeclareLaunchArgument("instruction", default_value="insert the peg", description="The task in words."),
    DeclareLaunchArgument(
        "pictures",
        default_value="policy",
        choices=["policy", "full"],
        description="policy: at policy resolution, as PNG. full: as the cameras give them, as video.",
    ),
    DeclareLaunchArgument(
        "keep_failures", default_value="false", choices=parts.TRUTH_VALUES, description="Keep those labelled a failure."
    ),
    DeclareLaunchArgument(
        "reset",
        default_value="auto",
        choices=["auto", *parts.TRUTH_VALUES],
        description="Reset the robot after a label, a real one by lift and motion. auto: with robot:=sim.",
    ),
    *parts.files("collect.yaml"),
    *parts.namespaces(),
    parts.seed("start states and scripted demonstrator"),
    parts.lockstep("dataset"),
    parts.use_sim_time(),
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
    shared = parts.common_parameters(argument)
    seed = {"seed": int(argument["seed"])}
    task = {"task": argument["task"]} if simulated else {}
    session = {"scripted": scripted, "reset": parts.chosen(argument["reset"], simulated), "teleports": simulated}
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

    node = parts.NodeMaker(argument["params_file"], shared).node

    def vital(name: str, *parameters: dict, executable: str = "") -> Node:
        return node(name, *parameters, executable=executable, on_exit=end_of(name))

    nodes = [
        vital("observation"),
        vital("executor", {"reset": "teleport" if simulated else "motion"}),
        vital("teleop", seed, session, script, executable="collect_teleop"),
        node("collector", recording, on_exit=end_of_recording),
    ]
    if with_devices(argument["devices"], shared["lockstep"]):
        devices = {"devices": argument["devices"]}
        nodes.append(node("input_devices", devices, **when_it_ends("input_devices", lockstep=False)))
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
    return LaunchDescription([*ARGUMENTS, parts.one_thread(), OpaqueFunction(function=collect)])
