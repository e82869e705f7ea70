"""The robot on one machine, VLA and learner on another: real processes and real DDS over a cable that is cut."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from graph import Graph, Listener
from machines import Cable
from test_stage2 import TRACEBACK, check_that_one_process_gives_the_same

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.rl.journal import Journal

Start = Callable[..., Graph]

TOPICS = {
    "/rlt/executed_step": (msg.ExecutedStep, None),
    "/rlt/transition": (msg.Transition, qos.TRANSITIONS),
    "/rlt/transition_ack": (msg.TransitionAck, None),
    "/rlt/actor_stats": (msg.ActorStats, None),
    "/rlt/link_stats": (msg.LinkStats, None),
}
CUT = 3.0
"""Seconds that the cable is out."""


@pytest.fixture()
def listener(cable: Cable) -> Iterator[Listener]:
    """On the robot's machine, before anything runs there."""
    opened = Listener(TOPICS, machine=cable.robot)
    yield opened
    opened.close()


@pytest.fixture()
def sides(stage2: Start, cable: Cable, listener: Listener, tmp_path: Path) -> Callable[..., tuple[Graph, Graph]]:
    """Starts the robot's side and the GPU's, each with a run directory of its own."""

    def start(**arguments: object) -> tuple[Graph, Graph]:
        one = lambda role, machine: stage2(  # noqa: E731
            domain=listener.domain, machine=machine, role=role, run_dir=tmp_path / role, **arguments
        )
        return one("robot", cable.robot), one("gpu", cable.gpu)

    return start


def newest(listener: Listener, topic: str, field: str) -> int:
    """A field of a topic's newest message, 0 before the first."""
    listener.spin()
    message = listener.newest(topic)
    return 0 if message is None else int(getattr(message, field))


def acknowledged_beyond(listener: Listener, number: int) -> Callable[[], bool]:
    """Whether the learner has more rows safe than so many."""
    return lambda: newest(listener, "/rlt/transition_ack", "ack_id") > number


def ends_right(robot: Graph, gpu: Graph) -> dict:
    """Wait until both sides have ended by themselves; returns the summary."""
    robot.wait_for((robot.run_dir / "summary.json").exists, 600, "the summary")
    assert robot.end(60) == 0 and gpu.end(60) == 0, gpu.text[-4000:]
    assert TRACEBACK not in robot.text + gpu.text
    assert f"the learner's files gpu-pc:{gpu.run_dir}" in robot.text
    assert "all sessions" not in gpu.text and "the session of rlt is over, 0 of 1 go on" in gpu.text
    summary = json.loads((robot.run_dir / "summary.json").read_text())
    rows = [(row.stream, row.id) for row in Journal(gpu.run_dir / "transitions")]
    published = summary["transitions"]["published"]
    assert summary["transitions"]["received"] == published > 20
    assert [number for _, number in rows] == list(range(1, published + 1)), "every row once, in order"
    assert len({stream for stream, _ in rows}) == 1, "no actor was started again"
    assert "process started with pid" in robot.text and "process has died" not in robot.text + gpu.text
    return summary


def test_a_slow_cable_that_is_pulled_twice_changes_nothing_but_time(
    sides: Callable, cable: Cable, listener: Listener, checkpoint: Path, quick: Path, tmp_path: Path
) -> None:
    cable.limit(20.0)
    parameters = yaml.safe_load(quick.read_text())
    parameters["/**/learner"]["ros__parameters"]["clock_error"] = 0.2
    skewed = tmp_path / "skewed.yaml"
    skewed.write_text(yaml.safe_dump(parameters))
    robot, gpu = sides(practice_minutes=0.35, eval_episodes=2, params_file=skewed)
    for rows in (5, 40):
        robot.wait_for(acknowledged_beyond(listener, rows), 240, f"{rows} rows")
        cable.cut(CUT)
    summary = ends_right(robot, gpu)
    assert summary["weights"]["published"] == summary["weights"]["applied"] >= 1
    check_skew(robot, listener)
    # `rlt fast` keeps everything in one directory.
    shutil.copy(robot.run_dir / "summary.json", gpu.run_dir)
    whole = json.loads((gpu.run_dir / "summary.json").read_text())
    del whole["learner_files"]
    (gpu.run_dir / "summary.json").write_text(json.dumps(whole))
    check_that_one_process_gives_the_same(gpu.run_dir, checkpoint, quick, tmp_path / "fast")


def check_skew(robot: Graph, listener: Listener) -> None:
    """The learner's clock is 200 ms ahead of the robot's, and everybody is told (field reports C15, A34)."""
    learner = [m for m in listener.received["/rlt/link_stats"] if m.node == "/rlt/learner"]
    features = [m for m in listener.received["/rlt/link_stats"] if m.node == "/rlt/features"]
    assert learner and features and {m.host for m in learner + features} == {"gpu-pc"}
    assert all(abs(m.clock_offset - 0.2) <= m.clock_uncertainty + 1e-3 for m in learner)
    assert all(abs(m.clock_offset) <= m.clock_uncertainty + 1e-3 for m in features)
    assert re.search(r"the clock of gpu-pc is \d+\.\d ms ahead of that of robot-pc", robot.text)
    assert re.search(r"learner on gpu-pc: \d+\.\d ms, clock \+\d+\.\d ms", robot.text)
    assert any(m.silence > CUT - 1.0 for m in learner), "a cut shows"
