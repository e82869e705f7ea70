"""What every command back-end answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState


@dataclass(frozen=True)
class SetPoint:
    """Pose of the tool that is due `ahead` seconds after the command."""

    pose: Pose
    ahead: float = 0.0


@dataclass(frozen=True)
class Trajectory:
    """Points of a joint trajectory. names: (7,). times: float64 (n,), s from its start. positions, velocities: float64
    (n, 7), rad and rad/s."""

    names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray


class CommandRefused(ValueError):
    """A set-point that the arm cannot be sent to; nothing of the command is sent."""


class Backend(Protocol):
    """Turns set-points, judged safe already, into a command of its controller; remembers what it has sent.

    A command is what `nodes.commands` has a message for: a Pose, a Trajectory or a twist float64 (6,).
    """

    def refuses(self, target: Pose, state: RobotState) -> str:
        """Why a target cannot be commanded now, starting with a fixed word and a colon; empty if it can."""

    def command(self, setpoints: Sequence[SetPoint], state: RobotState, seconds: float) -> Any:
        """The command for set-points in the order in which they are due. seconds: on a clock that never jumps.

        Raises CommandRefused where `refuses` gives a reason, ValueError without set-points or with one beyond HORIZON.
        """

    def hold(self, target: Pose, state: RobotState | None, seconds: float) -> Any:
        """The command that keeps the arm where it is; target: what the executor holds at. Never refuses."""

    def restart(self) -> None:
        """The arm may be anywhere, after a reset or a recovery: forget what was commanded."""
