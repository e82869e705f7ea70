"""Rules that look at the robot in a person's place: when a phase begins, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.types import Mode, Phase

Vector3 = tuple[float, float, float]


@dataclass(frozen=True)
class Sample:
    """What the rules see at one observation, and the operator's word for it.

    stamp: ns. pose: of the tool centre point in the base frame; turn: rad about the base axes from the reference pose
    to it, (3,). gripper: width in m. force: N and torque: Nm, sizes of the external ones. speed: m/s of the tool.
    scores: by topic the newest value of a classifier and its age in s.
    """

    stamp: int
    episode: int
    phase: Phase
    phase_id: int
    mode: Mode
    pose: Pose
    turn: np.ndarray
    gripper: float
    force: float
    torque: float
    speed: float
    scores: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Box:
    """Tool centre point within a box along the base axes (m), turned by at most `rotation` (rad, each axis) from the
    reference pose of the robot config."""

    lower: Vector3
    upper: Vector3
    rotation: Vector3 = (math.inf, math.inf, math.inf)

    def __post_init__(self) -> None:
        if not all(low < high for low, high in zip(self.lower, self.upper)):
            raise ValueError(f"lower is {self.lower}, upper {self.upper}; expected lower below upper on each axis")

    def met(self, sample: Sample) -> bool:
        """Whether the tool is there."""
        position = sample.pose.position
        inside = (position >= self.lower).all() and (position <= self.upper).all()
        return bool(inside and (np.abs(sample.turn) <= self.rotation).all())


@dataclass(frozen=True)
class Near:
    """Tool centre point at most `height` m above a point and `radius` m beside the vertical through it."""

    point: Vector3
    radius: float
    height: float

    def met(self, sample: Sample) -> bool:
        """Whether the tool is there."""
        offset = sample.pose.position - self.point
        return bool(np.hypot(offset[0], offset[1]) <= self.radius and offset[2] <= self.height)


@dataclass(frozen=True)
class Between:
    """A number from lower to upper."""

    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"lower is {self.lower}, upper {self.upper}; expected lower below upper")

    def met(self, value: float) -> bool:
        """Whether a value lies there."""
        return self.lower <= value <= self.upper


@dataclass(frozen=True)
class Score:
    """A classifier that publishes std_msgs/Float32 on `topic` says more than `above`, at most `stale_after` s ago."""

    topic: str
    above: float
    stale_after: float = 0.5

    def met(self, sample: Sample) -> bool:
        """Whether it does."""
        value, age = sample.scores.get(self.topic, (-math.inf, math.inf))
        return value > self.above and age <= self.stale_after


@dataclass(frozen=True)
class Rule:
    """All conditions that are given hold together for `hold` s of robot time.

    name: what the operator is told. after: s since the critical phase began, in the approach since it began. gripper:
    width in m. force: N, torque: Nm. speed: m/s.
    """

    name: str
    hold: float = 0.0
    after: float = 0.0
    box: Box | None = None
    near: Near | None = None
    gripper: Between | None = None
    force: Between | None = None
    torque: Between | None = None
    speed: Between | None = None
    score: Score | None = None

    def __post_init__(self) -> None:
        if not (self.hold >= 0.0 and self.after >= 0.0):
            raise ValueError(f"hold is {self.hold}, after {self.after}; expected 0 s or more")
        if not self._places and not self._numbers and self.after == 0.0:
            raise ValueError(f"rule {self.name!r} has no condition")

    @property
    def _places(self) -> list[Box | Near | Score]:
        return [condition for condition in (self.box, self.near, self.score) if condition is not None]

    @property
    def _numbers(self) -> dict[str, Between]:
        given = {name: getattr(self, name) for name in ("gripper", "force", "torque", "speed")}
        return {name: condition for name, condition in given.items() if condition is not None}

    def met(self, sample: Sample, seconds: float) -> bool:
        """Whether the conditions hold now. seconds: since the phase began."""
        return (
            seconds >= self.after
            and all(condition.met(sample) for condition in self._places)
            and all(condition.met(getattr(sample, name)) for name, condition in self._numbers.items())
        )


@dataclass(frozen=True)
class Rules:
    """begin: when the critical phase begins. success, failure: how it ended; where both hold it is a success."""

    begin: tuple[Rule, ...] = ()
    success: tuple[Rule, ...] = ()
    failure: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        if not (self.begin or self.success or self.failure):
            raise ValueError("there is no rule; expected some under begin, success or failure")

    @property
    def topics(self) -> list[str]:
        """Topics of the classifiers."""
        rules = (*self.begin, *self.success, *self.failure)
        return sorted({rule.score.topic for rule in rules if rule.score is not None})
