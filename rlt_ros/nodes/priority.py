"""Scheduling of this process: real-time or raised where permitted, lowered for those who can wait."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def set_priority(nice: int = 0, realtime: int = 0) -> str:
    """Set the scheduling of every thread of this process; returns what was obtained, as a line of text.

    realtime: priority from 1 under SCHED_RR, 0 for none; where it is not permitted (limits.conf: rtprio) nice counts.
    nice: -20 (first) to 19; who can wait (above 0) is never real-time, whoever started it. Threads that are started
    later inherit it from the one that starts them.
    """
    if nice > 0:
        _try(lambda thread: os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0)))
    refused = ""
    if realtime:
        refused = _try(lambda thread: os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(realtime)))
        if not refused:
            return f"SCHED_RR {realtime}"
        refused = f"; SCHED_RR {realtime} is not permitted"
    if nice:
        why = _try(lambda thread: os.setpriority(os.PRIO_PROCESS, thread, nice))
        return (f"nice {nice}" if not why else f"default, nice {nice} is not permitted") + refused
    return "default" + refused


def _try(change) -> str:  # noqa: ANN001 - a call with a thread id
    try:
        change(0)
    except (PermissionError, ValueError) as error:
        return str(error)
    for task in Path("/proc/self/task").glob("*"):
        # DDS has its own; one may have ended meanwhile.
        with suppress(ProcessLookupError, PermissionError):
            change(int(task.name))
    return ""
