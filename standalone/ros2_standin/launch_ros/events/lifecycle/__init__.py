"""Events of managed nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from launch._support import missing_attribute
from lifecycle_msgs.msg import Transition

from launch import Event

if TYPE_CHECKING:
    from lifecycle_msgs.msg import TransitionEvent

    from ...actions import LifecycleNode

__getattr__ = missing_attribute(__name__)
__all__ = ["ChangeState", "StateTransition"]

_TRANSITIONS = (
    "TRANSITION_CREATE",
    "TRANSITION_CONFIGURE",
    "TRANSITION_CLEANUP",
    "TRANSITION_ACTIVATE",
    "TRANSITION_DEACTIVATE",
    "TRANSITION_UNCONFIGURED_SHUTDOWN",
    "TRANSITION_INACTIVE_SHUTDOWN",
    "TRANSITION_ACTIVE_SHUTDOWN",
    "TRANSITION_DESTROY",
)


class ChangeState(Event):
    """Managed nodes are to make a transition."""

    name = "launch_ros.events.lifecycle.ChangeState"
    valid_transitions: ClassVar = {getattr(Transition, name): name for name in _TRANSITIONS}

    def __init__(self, *, lifecycle_node_matcher: Callable[[LifecycleNode], bool], transition_id: int) -> None:
        if transition_id not in self.valid_transitions:
            raise ValueError(f"transition_id '{transition_id}' is none of {self.valid_transitions}")
        self.lifecycle_node_matcher = lifecycle_node_matcher
        self.transition_id = transition_id


class StateTransition(Event):
    """A managed node has made a transition."""

    name = "launch_ros.events.lifecycle.StateTransition"

    def __init__(self, *, action: LifecycleNode, msg: TransitionEvent) -> None:
        self.action = action
        self.msg = msg
        self.timestamp = msg.timestamp
        self.transition = msg.transition.label
        self.start_state = msg.start_state.label
        self.goal_state = msg.goal_state.label
