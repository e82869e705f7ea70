"""Events of the launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .._support import missing_attribute
from ..event import Event
from . import process

if TYPE_CHECKING:
    from ..action import Action
    from ..actions import TimerAction

__getattr__ = missing_attribute(__name__)
__all__ = ["ExecutionComplete", "Shutdown", "TimerEvent", "matches_action", "process"]


def matches_action(target_action: Action) -> Callable[[Action], bool]:
    """Return a matcher that accepts this action only."""
    return lambda action: action is target_action


class Shutdown(Event):
    """The launch is to end."""

    name = "launch.events.Shutdown"

    def __init__(self, *, reason: str = "reason not given", due_to_sigint: bool = False) -> None:
        self.reason = reason
        self.due_to_sigint = due_to_sigint


class ExecutionComplete(Event):
    """An action has been executed, and what it started has finished."""

    name = "launch.events.ExecutionComplete"

    def __init__(self, *, action: Action) -> None:
        self.action = action


class TimerEvent(Event):
    """A timer has fired."""

    name = "launch.events.TimerEvent"

    def __init__(self, *, timer_action: TimerAction) -> None:
        self.timer_action = timer_action
