"""What Stage 1, Stage 2 and deployment must agree on, word for word."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rlt_ros.robot.config import RobotConfig
from rlt_ros.strict import ConfigError, build
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

FORMAT = 2
"""Version of the Stage-1 checkpoint format; another number is refused, never guessed at (report D07)."""


class ContractMismatch(ValueError):
    """Two sides disagree; names the field and both values."""


@dataclass(frozen=True)
class Contract:
    """The meaning of every number that passes between VLA, token, agent and robot."""

    format: int  # version of the checkpoint format
    task: str  # name of what was demonstrated; of a simulated task, a name of `sim.tasks.TASKS`
    proprio_names: tuple[str, ...]  # layout of the raw state vector
    reference_pose: tuple[float, ...]  # x y z (m) and quaternion x y z w that the state's pose is relative to
    action_names: tuple[str, ...]  # layout of an action
    translation_scale: float  # metres per control step at |a| = 1
    rotation_scale: float  # radians per control step at |a| = 1
    anchor: str  # what a delta starts from: last_target or measured
    control_rate: float  # Hz
    cameras: tuple[str, ...]  # names, in the order in which the VLA reads them
    image_size: tuple[int, int]  # height and width at policy resolution
    instruction: str  # the prompt, word for word
    chunk: int  # C, steps of an action chunk
    horizon: int  # H, steps of a reference chunk
    token_dim: int  # Z
    norm_hash: str  # of the normalisation statistics of the state
    vla: str  # identity of the VLA: configuration and weights
    token: str  # identity of the token encoder: configuration and weights

    def __post_init__(self) -> None:
        if self.horizon < self.chunk:
            raise ValueError(f"horizon is {self.horizon}, chunk is {self.chunk}; the VLA must look at least as far")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Z, P and A: lengths of token, proprioception and action."""
        return self.token_dim, len(self.proprio_names), len(self.action_names)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the whole content, 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def check(self, other: Contract) -> None:
        """Raise ContractMismatch at the first field in which the other contract differs."""
        for field in fields(self):
            compare(field.name, getattr(self, field.name), getattr(other, field.name))

    def check_robot(self, robot: RobotConfig) -> None:
        """Raise ContractMismatch where a robot config gives a number another meaning than it had in Stage 1."""
        for name, value in robot_terms(robot).items():
            compare(name, getattr(self, name), value)
        compare("cameras", sorted(self.cameras), sorted(robot.cameras))

    def check_task(self, task: str) -> None:
        """Raise ContractMismatch where another task was demonstrated than is to be practised."""
        compare("task of the checkpoint and of the run", self.task, task)

    def to_dict(self) -> dict[str, Any]:
        """The content for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(content: Mapping[str, Any], where: str) -> Contract:
        """The inverse of `to_dict`. Raises ContractMismatch on another format version, ConfigError on a bad key."""
        compare(f"{where}: format", FORMAT, content.get("format"))
        return build(Contract, content, where)


def read_contract(checkpoint: Path | str) -> Contract:
    """The contract of a Stage-1 checkpoint directory, without its weights. Raises ContractMismatch or ConfigError."""
    path = Path(checkpoint) / "config.json"
    try:
        content = json.loads(path.read_text())["contract"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not a Stage-1 checkpoint: {error}") from error
    return Contract.from_dict(content, str(path))


def robot_terms(robot: RobotConfig) -> dict[str, Any]:
    """The fields of a contract that the robot config and the vocabulary decide."""
    return {
        "proprio_names": PROPRIO_NAMES,
        "reference_pose": tuple(robot.reference_pose.position) + tuple(robot.reference_pose.quaternion),
        "action_names": ACTION_NAMES,
        "translation_scale": robot.action_scale.translation,
        "rotation_scale": robot.action_scale.rotation,
        "anchor": robot.anchor,
        "control_rate": robot.control_rate,
    }


def compare(field: str, ours: object, theirs: object) -> None:
    """Raise ContractMismatch naming the field and both values unless they are equal."""
    if ours != theirs:
        raise ContractMismatch(f"{field}: {ours!r} here, {theirs!r} there")
