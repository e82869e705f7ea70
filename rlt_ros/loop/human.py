"""A person's command for one control step, and when it is not to be executed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rlt_ros.types import ACTION_NAMES

HUMAN_TIMEOUT_NS = 100_000_000
"""A person's command that is older has been let go of: the arm holds (field report B41)."""
LET_GO = "human: let go"
_AHEAD_NS = 1_000_000_000


@dataclass(frozen=True)
class HumanCommand:
    """One control step commanded by a person. observation_id: that it answers, 0 for the newest. action: (7,), or (0,):
    the person has let go."""

    observation_id: int
    stamp: int
    action: np.ndarray


def doubt(command: HumanCommand | None, stamp: int) -> str:
    """Why a command must not be executed at an observation's stamp (ns); empty if it may."""
    if command is None:
        return "human: no command has come"
    age = (stamp - command.stamp) / 1e9
    if stamp - command.stamp > HUMAN_TIMEOUT_NS:
        return f"human: the command is {age:.3f} s old"
    if np.shape(command.action) == (0,):
        return LET_GO
    if command.stamp - stamp > _AHEAD_NS:
        return f"human: the command's stamp lies {-age:.3f} s ahead"
    if np.shape(command.action) != (len(ACTION_NAMES),) or not np.isfinite(command.action).all():
        return f"human: not {len(ACTION_NAMES)} finite values: {np.asarray(command.action).tolist()}"
    return ""
