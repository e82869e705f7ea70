"""Event handlers for managed nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from launch._support import missing_attribute

from launch import Event, EventHandler, SomeEntitiesType

from ..actions import LifecycleNode
from ..events.lifecycle import StateTransition

__getattr__ = missing_attribute(__name__)
__all__ = ["OnStateTransition"]


class OnStateTransition(EventHandler):
    """Reacts to transitions of a managed node, or of any."""

    def __init__(
        self,
        *,
        entities: SomeEntitiesType,
        target_lifecycle_node: LifecycleNode | None = None,
        transition: str | None = None,
        start_state: str | None = None,
        goal_state: str | None = None,
        matcher: Callable[[Event], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(target_lifecycle_node, (LifecycleNode, type(None))):
            raise RuntimeError("OnStateTransition requires a 'LifecycleNode' action as the target")
        wanted = {
            "action": target_lifecycle_node,
            "transition": transition,
            "start_state": start_state,
            "goal_state": goal_state,
        }

        def matches(event: Event) -> bool:
            return isinstance(event, StateTransition) and all(
                value is None or getattr(event, name) == value for name, value in wanted.items()
            )

        super().__init__(matcher=matcher or matches, entities=entities, **kwargs)
