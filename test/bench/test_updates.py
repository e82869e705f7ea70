"""The measurement itself, and what it owes to kept memory."""

from __future__ import annotations

import json
import platform
import subprocess
import sys

import pytest
import torch

from bench import updates

UPDATES = """
import resource, sys, torch
from bench.rows import transitions
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.flat import keep_freed_memory
from rlt_ros.rl.replay import Replay

torch.set_num_threads(1)
if sys.argv[1] == "kept":
    keep_freed_memory()
config, dims, generator = AgentConfig(batch=128, actor_after=0), Dims(z=64), torch.Generator()
replay, agent = Replay(config, dims), Agent(config, dims)
for row in transitions(config, dims, 300):
    replay.add(row)
for i in range(40):
    if i == 10:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    agent.update(replay.sample(128, generator))
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 30)
"""


def faults(way: str) -> int:
    """New pages per update in a process of its own."""
    return int(subprocess.run([sys.executable, "-c", UPDATES, way], capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_an_update_finds_the_memory_that_the_one_before_has_freed():
    # The fewest of three: a system that is short of memory takes pages away meanwhile.
    kept, as_it_comes = min(faults("kept") for _ in range(3)), faults("as it comes")
    assert kept < 40, "a handful, whatever else the process does"
    assert 2 * kept < as_it_comes, "how many depends on the size of the system's pages"


def test_a_line_holds_sizes_times_and_ratios_of_one_run(monkeypatch):
    monkeypatch.setattr(updates, "ROUND_MS", 1.0)
    monkeypatch.setattr(updates, "ROWS", 100)
    threads = torch.get_num_threads()
    line = json.loads(json.dumps(updates.measure(updates.Size(z=4, batch=8, layers=1, hidden=8), 1, "cpu")))
    torch.set_num_threads(threads)
    assert (line["z"], line["batch"], line["layers"], line["hidden"]) == (4, 8, 1, 8)
    assert line["actions"] == [10, 7] and line["threads"] == 1 and line["torch"] == torch.__version__
    for name in ("ms_ours", "ms_plain", "ms_limit", "ratio_plain", "ratio_plain_bfloat16", "share_of_limit"):
        assert line[name] > 0.0
