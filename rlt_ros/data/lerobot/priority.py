"""Keeps a codec from taking the machine over: run by root, SVT-AV1 makes its caller and all its threads real-time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

Policy = tuple[int, int]
"""Scheduling policy of the kernel (such as SCHED_FIFO) and the priority in it."""


@contextmanager
def kept_priority() -> Iterator[None]:
    """Inside, threads may be started; afterwards every thread of this process has the policy that it had, a new one the
    caller's. A recorder at the highest priority would take its core from the process that moves the arm.
    """
    if not hasattr(os, "sched_setscheduler"):  # Linux only, as is the fault
        yield
        return
    before = _policies()
    try:
        yield
    finally:
        for thread, policy in _policies().items():
            wanted = before.get(thread, before[threading.get_native_id()])
            if policy != wanted:
                with suppress(ProcessLookupError):
                    os.sched_setscheduler(thread, wanted[0], os.sched_param(wanted[1]))


def _policies() -> dict[int, Policy]:
    found = {}
    for name in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):
            found[int(name)] = (os.sched_getscheduler(int(name)), os.sched_getparam(int(name)).sched_priority)
    return found
