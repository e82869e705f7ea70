"""What counts as wrong: every limit with its meaning, from YAML or `--set`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rlt_ros.strict import build, changed, load


@dataclass(frozen=True)
class Limits:
    """The defaults suit a Franka arm at 10 to 50 Hz."""

    min_frames: int = 10  # frames of an episode, at least: one action chunk
    time_tolerance: float = 1e-4  # s, of timestamps against frame / fps; LeRobot's default
    stamp_gap: float = 0.2  # s between two raw stamps, at most, where the dataset keeps them
    frozen_seconds: float = 0.3  # s that a camera or the state may stay the same while the arm moves
    frozen_translation: float = 0.005  # m; the arm moves if it goes further than this meanwhile
    frozen_rotation: float = 0.05  # rad; or turns further than this
    frozen_share: float = 0.1  # of the range of values; counts as moving where units are not known
    same_level: float = 0.2  # of 255; mean difference of two video frames that are the same picture
    repeated_share: float = 0.3  # of the frames while the arm moves that may repeat the picture before: a slow camera
    blank_contrast: float = 2.0  # of 255; standard deviation of a picture with nothing on it
    black_level: float = 8.0  # of 255; mean of a picture that is black
    swapped_ratio: float = 0.5  # cameras are swapped if that brings an episode nearer to the others by this factor
    reach: float = 1.2  # m from the reference pose, at most
    speed: float = 2.0  # m/s, at most
    turn_speed: float = 5.0  # rad/s, at most
    wrench_force: float = 150.0  # N, at most
    wrench_torque: float = 60.0  # Nm, at most
    wild_ranges: float = 20.0  # ranges q01 to q99 beyond them that a value may lie, where units are not known
    unit_factor: float = 10.0  # between measured velocity and change of the pose: beyond it the units differ
    moving: float = 1e-6  # standard deviation of a dimension that is not constant
    gripper_change: float = 0.3  # of the opening: a change of width that the action must have asked for
    gripper_others: float = 0.8  # share of episodes in which the gripper changes that makes one without suspicious
    lag_seconds: float = 0.3  # s by which the arm may follow its actions
    quaternion_norm: float = 0.01  # by which the length of a quaternion may differ from 1
    stats_share: float = 0.01  # of the standard deviation by which statistics in meta/ may differ
    norm_margin: float = 0.5  # by which a checkpoint's q01 to q99 is widened, as a share of that range
    norm_warning: float = 0.02  # share of frames outside that is worth a warning
    norm_error: float = 0.25  # share of frames outside with which the checkpoint does not fit

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 0:
                raise ValueError(f"{field.name} is {getattr(self, field.name)}; expected no negative number")


def read_limits(path: str = "", assignments: Sequence[str] = ()) -> Limits:
    """Limits from a YAML file, if there is one, with NAME=VALUE changes. Raises ConfigError naming what is wrong."""
    values = asdict(load(Limits, Path(path)) if path else Limits())
    return build(Limits, changed(values, assignments), "limits")
