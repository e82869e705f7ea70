"""The action that starts a managed node, and reacts to and causes its transitions."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from launch.actions import OpaqueFunction

from launch import EventHandler, LaunchContext, SomeSubstitutionsType, logging

from ..events.lifecycle import ChangeState, StateTransition
from .node import Node

if TYPE_CHECKING:
    from lifecycle_msgs.msg import TransitionEvent

_POLL = 0.2  # seconds between looks at whether the launch is being shut down


class LifecycleNode(Node):
    """A node with lifecycle; needs rclpy."""

    def __init__(self, *, name: SomeSubstitutionsType, namespace: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(name=name, namespace=namespace, **kwargs)
        self.__client: Any = None
        self.__subscription: Any = None

    def execute(self, context: LaunchContext) -> None:
        """Start the node and listen to its transitions."""
        from lifecycle_msgs.msg import TransitionEvent
        from lifecycle_msgs.srv import ChangeState as ChangeStateService

        from ..ros_adapters import get_ros_node

        self._resolve(context)
        node = get_ros_node(context)

        def on_transition(message: TransitionEvent) -> None:
            self._announce(context, message)

        self.__subscription = node.create_subscription(
            TransitionEvent, f"{self.node_name}/transition_event", on_transition, 10
        )
        self.__client = node.create_client(ChangeStateService, f"{self.node_name}/change_state")
        context.register_event_handler(
            EventHandler(matcher=self._is_target, entities=OpaqueFunction(function=self._change_state))
        )
        super().execute(context)

    def _is_target(self, event: Any) -> bool:
        return isinstance(event, ChangeState) and event.lifecycle_node_matcher(self)

    def _announce(self, context: LaunchContext, message: TransitionEvent) -> None:
        event = StateTransition(action=self, msg=message)
        assert context.asyncio_loop is not None
        context.asyncio_loop.call_soon_threadsafe(context.emit_event_sync, event)

    def _change_state(self, context: LaunchContext) -> None:
        assert context.asyncio_loop is not None
        transition = context.locals.event.transition_id
        future = context.asyncio_loop.run_in_executor(None, self._call, context, transition)
        context.add_completion_future(future)

    def _call(self, context: LaunchContext, transition: int) -> None:
        """Call the service, outside the loop; give up when the launch is shut down."""
        from lifecycle_msgs.srv import ChangeState as ChangeStateService

        logger = logging.get_logger("launch_ros.actions.lifecycle_node")
        while not self.__client.wait_for_service(timeout_sec=_POLL):
            if context.is_shutdown:
                logger.warning("Abandoning wait for the '%s' service, due to shutdown.", self.__client.srv_name)
                return
        request = ChangeStateService.Request()
        request.transition.id = transition
        response = _wait(self.__client.call_async(request), context)
        if response is not None and not response.success:
            name = ChangeState.valid_transitions[transition]
            logger.error("Failed to make transition '%s' for LifecycleNode '%s'", name, self.node_name)


def _wait(future: Any, context: LaunchContext) -> Any:
    """Return the result of a future of rclpy, None when the launch is shut down first."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    while not done.wait(_POLL):
        if context.is_shutdown:
            future.cancel()
            return None
    return future.result()
