"""Replay a bag: into a learner, faster than real time, or onto the screen, without moving anything.

ros2 launch rlt_ros replay.launch.py bag:=runs/monday/bag into:=learner out:=runs/again
ros2 launch rlt_ros replay.launch.py bag:=runs/monday/bag into:=features checkpoint:=runs/other out:=runs/rows
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
        choices=["learner", "features", "view"],
        description="learner: its rows are learned from again, offline. features: its observations through another "
        "Stage-1 checkpoint, into new rows. view: shown in real time.",
    ),
    DeclareLaunchArgument("out", default_value="", description="into:=learner|features: new run directory."),
    DeclareLaunchArgument(
        "checkpoint", default_value="", description="Stage-1 checkpoint; into:=learner: empty: as its run says."
    ),
    DeclareLaunchArgument("seed", default_value="", description="Empty: into:=learner: that of its run; else 0."),
    DeclareLaunchArgument(
        "pictures",
        default_value="observation",
        choices=["observation", "cameras"],
        description="into:=features: pictures that the policy saw, or anew from the cameras.",
    ),
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
    if argument["into"] != "view" and not argument["out"]:
        raise RuntimeError(f"into:={argument['into']} needs out:=DIR, a new run directory")
    process = {"learner": into_learner, "features": into_features, "view": into_view}[argument["into"]](argument, bag)
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
    return _process("rlt", ["train", str(bag), *_options(argument, "out", "checkpoint", "seed")], "learner")


def into_features(argument: dict[str, str], bag: Path) -> ExecuteProcess:
    """`rlt rows-from-bag`."""
    if not argument["checkpoint"]:
        raise RuntimeError("into:=features needs checkpoint:=DIR, a Stage-1 checkpoint")
    names = ("out", "checkpoint", "seed", "pictures", "robot_config", "robot_namespace")
    return _process("rlt", ["rows-from-bag", str(bag), *_options(argument, *names)], "features")


def into_view(argument: dict[str, str], bag: Path) -> ExecuteProcess:
    """`ros2 bag play`, commands out of the way."""
    words = _options(argument, "rate", "start_offset", "robot_config", "robot_namespace")
    return _process("replay", [str(bag), *words, *(["--loop"] if argument["loop"] == "true" else [])], "replay")


def _options(argument: dict[str, str], *names: str) -> list[str]:
    """Options of a command from the launch arguments of the same names that are given."""
    return [word for name in names if argument[name] for word in (f"--{name.replace('_', '-')}", argument[name])]


def _process(executable: str, words: list[str], name: str) -> ExecuteProcess:
    command = [ExecutableInPackage(executable=executable, package="rlt_ros"), *words]
    return ExecuteProcess(cmd=command, name=name, output="screen", on_exit=end_of(name))


def generate_launch_description() -> LaunchDescription:
    """Arguments, then everything that depends on them."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=replay)])
