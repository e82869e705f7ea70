"""A Stage-1 checkpoint and running graphs for the launch tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from machines import Cable, Machine, two_machines, why_not

try:
    from graph import Graph, Listener
except ImportError:  # no ROS here: nothing in this folder can run
    Graph = Listener = None
collect_ignore_glob = [] if Graph is not None and shutil.which("ros2") else ["test_*.py"]

QUICK_LEARNER = {
    "warmup_episodes": 2,
    "warmup_rows": 20,
    "batch": 16,
    "bc_pretrain_updates": 100,
    "actor_after": 20,
    "gate_rows": 40,
    "gate_updates": 50,
    "gate_outcomes": "one",
    "gate_reference_error": 0.5,
    "save_every": 200,
}
"""The learner's stages, all within a few short episodes."""


IDLE = "needs an idle machine of its own and minutes: RLT_IDLE=1, as `make faults` and `make machines` do"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that want an idle machine are left out unless asked for."""
    for item in items:
        if item.get_closest_marker("idle") and not os.environ.get("RLT_IDLE"):
            item.add_marker(pytest.mark.skip(reason=IDLE))


@pytest.fixture(scope="session")
def checkpoint() -> Path:
    """A Stage-1 checkpoint, quickly made and poor, from the cache if it is there."""
    return _smoke_checkpoint("peg")


@pytest.fixture(scope="session")
def connector_checkpoint() -> Path:
    """The same for the task `connector`."""
    return _smoke_checkpoint("connector")


def _smoke_checkpoint(task: str) -> Path:
    command = [sys.executable, "-m", "rlt_ros.token.stage1_cli", "--preset", "smoke", "--task", task]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip().splitlines()[-1].removeprefix("stage1: checkpoint at "))


@pytest.fixture()
def cable() -> Iterator[Cable]:
    """Two machines, joined."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with two_machines() as joined:
        yield joined


@pytest.fixture()
def listener(request: pytest.FixtureRequest) -> Listener:
    """Of the test file's TOPICS; opened before the graph, in the domain that the graph must be given."""
    opened = Listener(request.module.TOPICS)
    request.addfinalizer(opened.close)
    return opened


@pytest.fixture()
def quick(tmp_path: Path) -> Path:
    """Node parameters for short runs."""
    path = tmp_path / "params.yaml"
    nodes = {
        "learner": QUICK_LEARNER,
        "teleop": {"time_limit": 30, "warmup_episodes": 2, "fail_after": 30},
    }
    path.write_text(yaml.safe_dump({f"/**/{n}": {"ros__parameters": p} for n, p in nodes.items()}))
    return path


@pytest.fixture()
def stage2(tmp_path: Path, checkpoint: Path, quick: Path) -> Iterator[Callable[..., Graph]]:
    """Starts `ros2 launch rlt_ros stage2.launch.py`; whatever still runs afterwards is ended."""
    started: list[Graph] = []

    def start(domain: int | None = None, machine: Machine | None = None, **arguments: object) -> Graph:
        defaults = {"run_dir": tmp_path / "run", "checkpoint": checkpoint, "params_file": quick, "seed": 1}
        graph = Graph(tmp_path / f"launch{len(started)}.log", defaults | arguments, domain=domain, machine=machine)
        started.append(graph)
        return graph

    yield start
    for graph in started:
        graph.abandon()
