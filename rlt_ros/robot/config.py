"""What is known about the robot: one YAML that rollout, replay, Stage 1 and deployment all read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from rlt_ros.robot.action_space import ActionSpace
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.sections import GRIPPER_DRIVERS, Following, Recovery, Reset, StateSource, Vector3
from rlt_ros.strict import load

DEFAULT = Path(__file__).with_name("franka.yaml")


@dataclass(frozen=True)
class Topics:
    """Names relative to the robot's namespace, as franka_ros2, crisp_controllers and the camera driver give them."""

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
    """What the safety module enforces; `robot.safety` says how."""

    leash_translation: float
    leash_rotation: float
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
        if self.driver not in GRIPPER_DRIVERS:
            raise ValueError(f"driver is {self.driver!r}; expected one of {', '.join(GRIPPER_DRIVERS)}")
        if not 0.0 <= self.closed_width < self.open_width:
            raise ValueError(f"closed_width is {self.closed_width} m, open_width {self.open_width} m; expected less")
        for name in ("force", "speed", "timeout"):
            # A goal with force 0 that meets an object lasts for 100 s.
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a positive number")
        if not 0.0 < self.hysteresis <= 1.0 or not self.interval >= 0.0:
            raise ValueError(f"hysteresis is {self.hysteresis}, interval {self.interval} s; expected 0 to 1, 0 or more")


@dataclass(frozen=True)
class ReferencePose:
    """Pose that proprioception is relative to: position (m) and quaternion x y z w in the base frame."""

    position: Vector3
    quaternion: tuple[float, float, float, float]


@dataclass(frozen=True)
class RobotConfig:
    """The robot config. `franka.yaml` beside this file is the default and explains each value."""

    name: str
    base_frame: str
    joint_names: tuple[str, ...]
    finger_joint_names: tuple[str, ...]
    control_rate: float
    anchor: str
    action_scale: ActionScale
    reference_pose: ReferencePose
    limits: Limits
    gripper: Gripper
    state: StateSource
    following: Following
    recovery: Recovery
    reset: Reset
    cameras: dict[str, str]
    topics: Topics

    def __post_init__(self) -> None:
        if self.anchor not in ("last_target", "measured"):
            raise ValueError(f"anchor is {self.anchor!r}; expected 'last_target' or 'measured'")
        if len(self.joint_names) != 7:
            raise ValueError(f"joint_names has {len(self.joint_names)} names; a Franka arm has 7")
        if not self.control_rate > 0 or not math.isfinite(self.control_rate):
            raise ValueError(f"control_rate is {self.control_rate}; expected a positive number of Hz")

    @property
    def action_space(self) -> ActionSpace:
        """The action space with this robot's scale."""
        return ActionSpace(self.action_scale.translation, self.action_scale.rotation)

    @property
    def reference(self) -> Pose:
        """The reference pose of proprioception."""
        return Pose.of(self.reference_pose.position, self.reference_pose.quaternion)


def load_robot(path: Path | str = "") -> RobotConfig:
    """The robot config at a path; an empty path means the FR3 default. Raises ConfigError with file, key and value."""
    return load(RobotConfig, Path(path) if path else DEFAULT)
