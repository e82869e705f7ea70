"""Replay a bag: into a learner, faster than real time, or onto the screen, without moving anything.

ros2 launch rlt_ros replay.launch.py bag:=runs/monday/bag into:=learner out:=runs/again
ros2 launch rlt_ros replay.launch.py bag:=runs/monday/bag into:=view loop:=true
"""

from pathlib import Path

from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration
from launch_ros.substitutions import ExecutableInPackage

from launch import LaunchContext, LaunchDescription
from rlt_ros.data.bags.paths import is_bag, is_finished
from rlt_ros.nodes.launching import end_of

ARGUMENTS = [
    DeclareLaunchArgument("bag", description="Bag to replay; one whose recorder was killed is mended first."),
    DeclareLaunchArgument(
        "into",
        default_value="view",
        choices=["learner", "view"],
        description="learner: its rows are learned from again, offline. view: shown in real time.",
    ),
    DeclareLaunchArgument("out", default_value="", description="into:=learner: new run directory."),
    DeclareLaunchArgument(
        "checkpoint", default_value="", description="into:=learner: Stage-1 checkpoint; empty: as its run says."
    ),
    DeclareLaunchArgument("seed", default_value="", description="into:=learner: empty: that of its run."),
    DeclareLaunchArgument("rate", default_value="1.0", description="into:=view: speed."),
    DeclareLaunchArgument("start_offset", default_value="0.0", description="into:=view: seconds into the bag."),
    DeclareLaunchArgument(
        "loop", default_value="false", choices=["true", "false"], description="into:=view: again from the beginning."
    ),
    DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML); empty: the FR3's."),
    DeclareLaunchArgument("robot_namespace", default_value="", description="Namespace of the robot's own topics."),
]


def replay(context: LaunchContext) -> list:
    """The actions, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    bag = Path(argument["bag"]).expanduser().resolve()
    if not is_bag(bag):
        raise RuntimeError(f"bag:={argument['bag']}: no bag is there")
    if argument["into"] == "learner" and not argument["out"]:
        raise RuntimeError("into:=learner needs out:=DIR, a new run directory")
    process = into_learner(argument, bag) if argument["into"] == "learner" else into_view(argument, bag)
    return [process] if is_finished(bag) else mend_first(bag, process)


def mend_first(bag: Path, process: ExecuteProcess) -> list:
    """The bag of a killed recorder gets its metadata, then the replay begins."""
    mending = ExecuteProcess(
        cmd=["ros2", "bag", "reindex", str(bag), "--storage", "mcap"], name="reindex", output="screen"
    )

    def go_on(event, context: LaunchContext) -> list:  # noqa: ANN001 - ProcessExited
        if event.returncode != 0:
            raise RuntimeError(f"{bag} cannot be mended; the last lines of reindex say why")
        return [] if context.is_shutdown else [process]

    told = LogInfo(msg=f"{bag} has no metadata: its recorder was killed. It is mended first")
    return [told, RegisterEventHandler(OnProcessExit(target_action=mending, on_exit=go_on)), mending]


def into_learner(argument: dict[str, str], bag: Path) -> ExecuteProcess:
    """`rlt train` with the rows of the bag."""
    options = {"--out": argument["out"], "--checkpoint": argument["checkpoint"], "--seed": argument["seed"]}
    words = [word for name, value in options.items() if value for word in (name, value)]
    return _process("rlt", ["train", str(bag), *words], "learner")


def into_view(argument: dict[str, str], bag: Path) -> ExecuteProcess:
    """`ros2 bag play`, commands out of the way."""
    names = {"--rate": "rate", "--start-offset": "start_offset", "--robot-config": "robot_config"}
    names["--robot-namespace"] = "robot_namespace"
    words = [word for option, name in names.items() if argument[name] for word in (option, argument[name])]
    return _process("replay", [str(bag), *words, *(["--loop"] if argument["loop"] == "true" else [])], "replay")


def _process(executable: str, words: list[str], name: str) -> ExecuteProcess:
    command = [ExecutableInPackage(executable=executable, package="rlt_ros"), *words]
    return ExecuteProcess(cmd=command, name=name, output="screen", on_exit=end_of(name))


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=replay)])
