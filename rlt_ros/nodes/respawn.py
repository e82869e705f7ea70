"""What launch does when a node of Stage 2 ends: who is started again, and what ends the run."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

from launch.actions import LogInfo
from launch.events.process import ProcessExited

from launch import LaunchContext
from rlt_ros.nodes.launching import end_of

RETURNING = ("observation", "features", "actor", "executor", "teleop", "input_devices")
"""Nodes that go on when they are started again: the others tell them, or a file does, where they stood."""
DELAY = 1.0
"""Seconds until one is started again."""
DEATHS = 5
"""Of one node in a run; at the next one the run ends."""


def when_it_ends(name: str, lockstep: bool) -> dict[str, Any]:
    """Arguments of `launch_ros.actions.Node` for a node that the run cannot do without.

    One that was killed by a signal is started again, and the arm holds meanwhile; one that ended by itself has said
    why, and would say so again. In lockstep the run ends in any case: its results would not be those of its seed.
    """
    if lockstep or name not in RETURNING:
        return {"on_exit": end_of(name)}
    return {"respawn": True, "respawn_delay": DELAY, "on_exit": end_unless_killed(name)}


def end_unless_killed(name: str) -> Callable[[ProcessExited, LaunchContext], list]:
    """`on_exit` of a node that is started again after it was killed."""
    deaths = 0

    def ended(event: ProcessExited, context: LaunchContext) -> list:
        nonlocal deaths
        if event.returncode >= 0 or context.is_shutdown:
            return end_of(name)(event, context)
        deaths += 1
        if deaths > DEATHS:
            raise RuntimeError(f"{name} was killed {deaths} times, the last time by {_signal(event.returncode)}")
        again = f"{name} was killed by {_signal(event.returncode)}; it is started again, and the arm holds meanwhile"
        return [LogInfo(msg=again)]

    return ended


def launch_id(lockstep: bool) -> dict[str, str]:
    """Parameter with which a node that is started again knows that it belongs to this very launch."""
    return {"launch_id": "" if lockstep else f"launch-{time.time_ns()}"}


def _signal(returncode: int) -> str:
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"
