"""Scheduling: what was asked for, what was obtained."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SAY = "from rlt_ros.nodes.priority import set_priority; import os; print(set_priority({0}), os.sched_getscheduler(0))"


def run(arguments: str, *before: str) -> str:
    """In a process of its own."""
    command = [*before, sys.executable, "-c", SAY.format(arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_asked_nothing_done() -> None:
    assert run("") == f"default {os.SCHED_OTHER}"


def test_lower_is_always_permitted_and_never_real_time() -> None:
    assert run("nice=10") == f"nice 10 {os.SCHED_OTHER}"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs rights")
def test_real_time_where_permitted_and_not_for_those_who_can_wait() -> None:
    assert run("nice=-5, realtime=3") == f"SCHED_RR 3 {os.SCHED_RR}"
    assert run("nice=10", "chrt", "--rr", "1") == f"nice 10 {os.SCHED_OTHER}"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives rights up")
def test_what_is_not_permitted_is_said() -> None:
    without = ["setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    if subprocess.run([*without, sys.executable, "-c", ""], capture_output=True).returncode:
        pytest.skip("setpriv is not usable here")
    said = run("nice=-5, realtime=3", *without)
    assert said == f"default, nice -5 is not permitted; SCHED_RR 3 is not permitted {os.SCHED_OTHER}"
