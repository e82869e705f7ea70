"""Sections of the robot config: where the state comes from, what a fault is, how the arm recovers and is reset."""

from __future__ import annotations

import math
from dataclasses import dataclass

Vector3 = tuple[float, float, float]
Vector4 = tuple[float, float, float, float]
STATE_SOURCES = ("topics", "robot_state", "standard")
GRIPPER_DRIVERS = ("franka_hand", "gripper_command", "none")
AFTER_RESET = ("open", "keep")


@dataclass(frozen=True)
class StateSource:
    """Where the measured state comes from.

    source: `topics` (the broadcaster's convenience topics, and robot_state for mode and errors where franka_msgs is
    installed), `robot_state` (all of it, the gripper apart) or `standard` (convenience topics alone: fake hardware).
    rate: Hz at which the newest messages are looked at in real time; what comes between is never converted.
    success_rate: share of control commands that arrived in time, below which it is reported.
    """

    source: str
    rate: float
    success_rate: float

    def __post_init__(self) -> None:
        one_of("source", self.source, STATE_SOURCES)
        positive("rate", self.rate)
        if not 0.0 <= self.success_rate <= 1.0:
            raise ValueError(f"success_rate is {self.success_rate}; expected a share between 0 and 1")


@dataclass(frozen=True)
class Following:
    """When an arm that was commanded counts as not following; `robot.following` says how.

    seconds: that it stood still. still_translation (m), still_rotation (rad): motion that is none. error_translation,
    error_rotation: distance of the target that should have moved it. contact: N above which it may be held back.
    """

    seconds: float
    still_translation: float
    still_rotation: float
    error_translation: float
    error_rotation: float
    contact: float

    def __post_init__(self) -> None:
        for name in ("seconds", "still_translation", "still_rotation", "error_translation", "error_rotation"):
            positive(name, getattr(self, name))


@dataclass(frozen=True)
class Recovery:
    """The three documented steps. confirm: each recovery waits for the operator; without, `attempts` of them in a row
    are made, `pause` seconds apart, before it does.

    timeout: s for one step (16 s have been seen). hardware: component of the controller manager. controllers: those
    that are activated again.
    """

    confirm: bool
    attempts: int
    pause: float
    timeout: float
    hardware: str
    controllers: tuple[str, ...]

    def __post_init__(self) -> None:
        positive("timeout", self.timeout)
        if self.attempts < 1 or not self.pause >= 0.0:
            raise ValueError(f"attempts is {self.attempts}, pause {self.pause} s; expected 1 or more and 0 or more")


@dataclass(frozen=True)
class Start:
    """Where an episode begins: position in m, quaternion x y z w, base frame. spread, rotation: half ranges (m, and rad
    about the base axes) of what the reset seed adds. saved: poses, seven numbers each, one of which the seed takes
    instead; empty: none.
    """

    position: Vector3
    quaternion: Vector4
    spread: Vector3
    rotation: Vector3
    saved: tuple[tuple[float, float, float, float, float, float, float], ...]


@dataclass(frozen=True)
class Reset:
    """The reset by motion: hand, straight up by `lift` m, across at that height, down to the start.

    gripper: `open` or `keep`, before the lift; gripper_seconds: time for it. speed: m/s, rotation_speed: rad/s.
    tolerance (m), rotation_tolerance (rad): to the start, where it counts as reached. stalled_after: s without progress
    that fail it. time_limit: s.
    """

    gripper: str
    gripper_seconds: float
    lift: float
    speed: float
    rotation_speed: float
    tolerance: float
    rotation_tolerance: float
    stalled_after: float
    time_limit: float
    start: Start

    def __post_init__(self) -> None:
        one_of("gripper", self.gripper, AFTER_RESET)
        for name in ("speed", "rotation_speed", "tolerance", "rotation_tolerance", "stalled_after", "time_limit"):
            positive(name, getattr(self, name))
        if not (self.lift >= 0.0 and self.gripper_seconds >= 0.0):
            raise ValueError(f"lift is {self.lift} m, gripper_seconds {self.gripper_seconds} s; expected 0 or more")


def one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise ValueError unless a value is a known one."""
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected {', '.join(known[:-1])} or {known[-1]}")


def positive(name: str, value: float) -> None:
    """Raise ValueError unless a value is a positive, finite number."""
    if not value > 0 or not math.isfinite(value):
        raise ValueError(f"{name} is {value}; expected a positive number")
