"""The buttons of the panel: their order, and what teleop would say to each of them now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Mode, Phase

GROUPS: Mapping[str, tuple[str, ...]] = {
    "critical phase": ("begin", "success", "failure", "discard", "abort"),
    "who drives": ("vla", "rl", "human", "hand_back"),
    "episodes": ("reset", "pause", "next"),
    "start poses": ("start_here", "start_anywhere"),
}
"""Heading to actions, in the words of `keys.REQUESTS`; stop stands by itself."""


@dataclass(frozen=True)
class Look:
    """refused: why teleop would refuse a press, empty if it would not. on: what it asks for is so already."""

    refused: str
    on: bool


def look(action: str, status: OperatorStatus) -> Look:
    """How a button looks. It can be pressed all the same: teleop decides, by what it knows then."""
    resets = status.mode is Mode.RESET and action not in _WHILE_RESETTING
    return Look("a reset is under way" if resets else _REFUSALS[action](status), _ON[action](status))


def _begin(status: OperatorStatus) -> str:
    if status.phase is Phase.CRITICAL:
        return "it has begun"
    return "" if status.phase is Phase.APPROACH else "reset first"


def _label(status: OperatorStatus) -> str:
    return "" if status.phase is Phase.CRITICAL else "no critical phase"


def _rl(status: OperatorStatus) -> str:
    if status.phase is not Phase.CRITICAL:
        return "in a critical phase only"
    return "" if status.gate_open else f"gate closed: {status.gate_reason}"


def _reset(status: OperatorStatus) -> str:
    return "label the phase first" if status.phase is Phase.CRITICAL else ""


def _pause(status: OperatorStatus) -> str:
    return "there is a pause already" if status.paused else ""


def _next(status: OperatorStatus) -> str:
    between = status.paused or status.phase in (Phase.IDLE, Phase.LABELLED)
    return "" if between else "an episode is under way"


def _free(status: OperatorStatus) -> str:
    return ""


def _hand_back(status: OperatorStatus) -> str:
    return "" if status.mode is Mode.HUMAN else "no person drives"


_WHILE_RESETTING = ("pause", "start_here", "start_anywhere")
_Refusal = Callable[[OperatorStatus], str]
_REFUSALS: Mapping[str, _Refusal] = {
    "begin": _begin,
    **dict.fromkeys(("success", "failure", "discard", "abort"), _label),
    # After a label the VLA may drive only if the plan of the next episode does without a reset, which no status says.
    "vla": _free,
    "rl": _rl,
    "human": _free,
    "hand_back": _hand_back,
    "reset": _reset,
    "pause": _pause,
    "next": _next,
    # What a start pose has to be, no status says.
    "start_here": _free,
    "start_anywhere": lambda status: "" if status.start_poses else "none is saved",
}
_ON: Mapping[str, Callable[[OperatorStatus], bool]] = {
    **dict.fromkeys(_REFUSALS, lambda status: False),
    "begin": lambda status: status.phase is Phase.CRITICAL,
    "vla": lambda status: status.mode is Mode.VLA,
    "rl": lambda status: status.mode is Mode.RL,
    "human": lambda status: status.mode is Mode.HUMAN,
    "reset": lambda status: status.mode is Mode.RESET,
    "pause": lambda status: status.paused,
}
