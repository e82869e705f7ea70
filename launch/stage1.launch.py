"""Stage 1: a VLA and its RL token from demonstrations, as `rlt stage1` makes them.

ros2 launch rlt_ros stage1.launch.py config:=stage1.yaml
ros2 launch rlt_ros stage1.launch.py config:=stage1.yaml resume:=true
ros2 launch rlt_ros stage1.launch.py task:=yaw_mark           # simulated demonstrations, result in the cache
"""

import shlex

from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, SetEnvironmentVariable, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.substitutions import ExecutableInPackage

from launch import LaunchContext, LaunchDescription
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.token.config import PRESETS

ARGUMENTS = [
    DeclareLaunchArgument("config", default_value="", description="What to train (YAML); empty: a preset."),
    DeclareLaunchArgument(
        "resume", default_value="false", choices=["true", "false"], description="Go on with an interrupted run."
    ),
    DeclareLaunchArgument(
        "token",
        default_value="trained",
        choices=["trained", "untrained"],
        description="untrained: a random token encoder, to compare.",
    ),
    DeclareLaunchArgument("dataset", default_value="", description="LeRobot dataset; empty: the config's."),
    DeclareLaunchArgument("output", default_value="", description="Checkpoint directory; empty: the config's."),
    DeclareLaunchArgument("seed", default_value="", description="Of demonstrations and training; empty: the config's."),
    DeclareLaunchArgument(
        "preset", default_value="demo", choices=sorted(PRESETS), description="What to train without a config."
    ),
    DeclareLaunchArgument(
        "task", default_value=DEFAULT_TASK, choices=list(TASKS), description="Simulated task of a preset."
    ),
    DeclareLaunchArgument("robot_config", default_value="", description="Robot config (YAML) of a preset."),
    DeclareLaunchArgument(
        "launcher",
        default_value="",
        description="Starts several processes, such as 'accelerate launch --config_file config/accelerate.yaml'.",
    ),
]
OF_PRESETS = ("preset", "task", "robot_config")


def stage1(context: LaunchContext) -> list:
    """The one process, now that the arguments are known."""
    argument = {a.name: context.perform_substitution(LaunchConfiguration(a.name)) for a in ARGUMENTS}
    options = {name: argument[name] for name in ("config", "dataset", "token", "output", "seed")}
    if not argument["config"]:
        options |= {name: argument[name] for name in OF_PRESETS}
    given = [part for name, value in options.items() if value for part in (f"--{name.replace('_', '-')}", value)]
    given += ["--resume"] if argument["resume"] == "true" else []
    return [ExecuteProcess(cmd=[*program(argument["launcher"]), *given], name="stage1", output="screen", on_exit=ended)]


def program(launcher: str) -> list:
    """What is executed: the package's executable, or its module under a launcher of several processes."""
    if launcher:
        return [*shlex.split(launcher), "-m", "rlt_ros.token.stage1_cli"]
    return [ExecutableInPackage(executable="stage1", package="rlt_ros")]


def ended(event, context: LaunchContext) -> list:  # noqa: ANN001 - ProcessExited
    """A failed training is a failed launch."""
    if event.returncode == 0:
        return [Shutdown(reason="Stage 1 is done")]
    raise RuntimeError(f"stage1 failed with exit code {event.returncode}; its last lines say why")


def generate_launch_description() -> LaunchDescription:
    """Arguments, then the process that depends on them."""
    threads = SetEnvironmentVariable("OMP_NUM_THREADS", "1")
    return LaunchDescription([*ARGUMENTS, threads, OpaqueFunction(function=stage1)])
