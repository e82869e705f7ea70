"""What launch files share."""

from __future__ import annotations

from collections.abc import Callable

from launch.actions import Shutdown
from launch.events.process import ProcessExited

from launch import LaunchContext


def end_of(name: str) -> Callable[[ProcessExited, LaunchContext], list]:
    """`on_exit` of a node with which the run ends; one that failed makes the run fail, but for those that are only
    being shut down.
    """

    def ended(event: ProcessExited, context: LaunchContext) -> list:
        if event.returncode != 0 and not context.is_shutdown:
            raise RuntimeError(f"{name} failed with exit code {event.returncode}; its last lines say why")
        return [Shutdown(reason=f"{name} has ended")]

    return ended
