"""What is known about the robot: one YAML that rollout, replay, Stage 1 and deployment all read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros.robot.action_space import ActionSpace
from rlt_ros.robot.commands.config import Command
from rlt_ros.robot.limits import Arm
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.sections import (
    GRIPPER_DRIVERS,
    Following,
    Recovery,
    Reset,
    StateSource,
    Vector3,
    Vector4,
    one_of,
    positive,
)
from rlt_ros.strict import ConfigError, build, merged, read_mapping
from rlt_ros.types import PROPRIO_NAMES

DEFAULT = Path(__file__).with_name("franka.yaml")
PRESETS = Path(__file__).with_name("presets")


@dataclass(frozen=True)
class Topics:
    """Names relative to the robot's namespace, as franka_ros2, the controllers and the camera driver give them."""

    joint_states: str
    current_pose: str
    external_wrench: str
    robot_state: str
    gripper_joint_states: str
    gripper_move: str
    gripper_grasp: str
    gripper_homing: str
    gripper_action: str
    error_recovery: str
    set_hardware_state: str
    switch_controller: str
    list_controllers: str
    target_pose: str
    target_stiffness: str
    joint_trajectory: str
    twist: str
    servo_status: str
    servo_command_type: str
    robot_description: str
    reset: str


@dataclass(frozen=True)
class ActionScale:
    """Metres and radians per control step at |a| = 1."""

    translation: float
    rotation: float


@dataclass(frozen=True)
class Workspace:
    """Where the tool may go: a box in the base frame (m) and a rotation vector about the reference pose (rad)."""

    lower: Vector3
    upper: Vector3
    rotation: Vector3


@dataclass(frozen=True)
class Limits:
    """What the safety module enforces; `robot.safety` says how. speed (m/s), rotation_speed (rad/s): of set-points."""

    leash_translation: float
    leash_rotation: float
    speed: float
    rotation_speed: float
    force: float
    force_release: float
    stale_after: float
    workspace: Workspace


@dataclass(frozen=True)
class Gripper:
    """Width in metres at action -1 (closed) and +1 (open), and the hysteresis band of the action.

    driver: `franka_hand` (Move, Grasp, Homing of franka_msgs), `gripper_command` (GripperCommand of control_msgs, whose
    position is half the width) or `none`. homing: before the first command. force: N. speed: m/s. timeout: s after
    which a goal is given up. interval: s between two goals at least.
    """

    driver: str
    closed_width: float
    open_width: float
    hysteresis: float
    force: float
    speed: float
    homing: bool
    timeout: float
    interval: float

    def __post_init__(self) -> None:
        one_of("driver", self.driver, GRIPPER_DRIVERS)
        if not 0.0 <= self.closed_width < self.open_width:
            raise ValueError(f"closed_width is {self.closed_width} m, open_width {self.open_width} m; expected less")
        for name in ("force", "speed", "timeout"):
            positive(name, getattr(self, name))  # a goal with force 0 that meets an object lasts for 100 s
        if not 0.0 < self.hysteresis <= 1.0 or not self.interval >= 0.0:
            raise ValueError(f"hysteresis is {self.hysteresis}, interval {self.interval} s; expected 0 to 1, 0 or more")


@dataclass(frozen=True)
class ReferencePose:
    """Pose that proprioception is relative to: position (m) and quaternion x y z w in the base frame."""

    position: Vector3
    quaternion: Vector4


@dataclass(frozen=True)
class CameraMount:
    """Where a frame of a camera is: pose in a parent frame, position (m) and quaternion x y z w."""

    parent: str
    frame: str
    position: Vector3
    quaternion: Vector4


@dataclass(frozen=True)
class RobotConfig:
    """The robot config. `franka.yaml` beside this file is the default and explains each value."""

    name: str
    base_frame: str
    tool_frame: str
    joint_names: tuple[str, ...]
    finger_joint_names: tuple[str, ...]
    state_layout: tuple[str, ...]
    control_rate: float
    anchor: str
    action_scale: ActionScale
    reference_pose: ReferencePose
    limits: Limits
    arm: Arm
    command: Command
    gripper: Gripper
    state: StateSource
    following: Following
    recovery: Recovery
    reset: Reset
    cameras: dict[str, str]
    camera_mounts: dict[str, CameraMount]
    topics: Topics

    def __post_init__(self) -> None:
        one_of("anchor", self.anchor, ("last_target", "measured"))
        if len(self.joint_names) != 7:
            raise ValueError(f"joint_names has {len(self.joint_names)} names; a Franka arm has 7")
        if self.state_layout != PROPRIO_NAMES:
            raise ValueError(f"state_layout is {list(self.state_layout)}; expected {list(PROPRIO_NAMES)}")
        positive("control_rate", self.control_rate)
        strangers = sorted(set(self.camera_mounts) - set(self.cameras))
        if strangers:
            raise ValueError(f"camera_mounts has {strangers[0]!r}; cameras are {', '.join(self.cameras)}")

    @property
    def action_space(self) -> ActionSpace:
        """The action space with this robot's scale."""
        return ActionSpace(self.action_scale.translation, self.action_scale.rotation)

    @property
    def reference(self) -> Pose:
        """The reference pose of proprioception."""
        return Pose.of(self.reference_pose.position, self.reference_pose.quaternion)


def load_robot(path: Path | str = "") -> RobotConfig:
    """The robot config at a path, or a preset by its name; empty: the default, FR3 with crisp_controllers.

    A file with `base:` and the name of a file (relative to itself) or of a preset takes that one and replaces the keys
    that it names, sections key by key, cameras as a whole. Raises ConfigError with file, key and value.
    """
    file = find_robot(path)
    return build(RobotConfig, _settings(file, ()), str(file))


def find_robot(path: Path | str) -> Path:
    """The file behind a path or a preset's name. Raises ConfigError naming the presets."""
    if not str(path):
        return DEFAULT
    preset = PRESETS / f"{path}.yaml"
    if Path(path).name == str(path) and preset.is_file() and not Path(path).exists():
        return preset
    if not Path(path).is_file():
        raise ConfigError(f"robot config {path}: no such file; presets are {', '.join(preset_names())}")
    return Path(path)


def preset_names() -> list[str]:
    """Names of the robot configs that come with the package."""
    return sorted(file.stem for file in PRESETS.glob("*.yaml"))


def _settings(file: Path, seen: tuple[Path, ...]) -> Mapping[str, Any]:
    values = dict(read_mapping(file))
    base = values.pop("base", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise ConfigError(f"{file}: base is {base!r}; expected the name of a file")
    below = (PRESETS / f"{base}.yaml" if base in preset_names() else file.parent / base).resolve()
    if below in seen:
        raise ConfigError(f"{file}: base {below} is based on this file itself")
    return merged(_settings(below, (*seen, file.resolve())), values, str(file), whole=("cameras", "camera_mounts"))
