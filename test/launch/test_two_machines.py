"""The robot on one machine, VLA and learner on another: real processes and real DDS over a cable that is cut."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import fault_watch
import pytest
import yaml
from fault_watch import DRIVEN, LIMIT, Watch, commanded_until, lateness
from graph import Graph, Listener, new_domain
from machines import Cable
from test_stage2 import TRACEBACK, check_that_one_process_gives_the_same

from rlt_ros import msg
from rlt_ros.data.contract import read_contract
from rlt_ros.nodes import qos
from rlt_ros.rl.journal import Journal

Start = Callable[..., Graph]

TOPICS = {
    **fault_watch.TOPICS,
    "/rlt/transition": (msg.Transition, qos.TRANSITIONS),
    "/rlt/transition_ack": (msg.TransitionAck, None),
    "/rlt/actor_stats": (msg.ActorStats, None),
    "/rlt/learner_stats": (msg.LearnerStats, None),
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
    assert "process has died" not in robot.text + gpu.text
    return summary


@pytest.mark.idle
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


@pytest.mark.idle
def test_an_arm_whose_cable_is_pulled_holds_and_goes_on_by_itself(
    sides: Callable, cable: Cable, listener: Listener, quick: Path
) -> None:
    cable.limit(20.0)
    parameters = yaml.safe_load(quick.read_text())
    parameters["/**/teleop"]["ros__parameters"] |= {"time_limit": 100, "fail_after": 100}
    quick.write_text(yaml.safe_dump(parameters))
    robot, gpu = sides(practice_minutes=1.5, eval_episodes=0, lockstep="false")
    watch = Watch(robot, listener)
    watch.wait(lambda: listener.newest("/rlt/transition_ack"), 300, "the first rows")
    for _ in range(2):
        pull_and_plug(watch, cable)
        watch.wait(lambda: has_newest_weights(listener), 120, "the newest weights")
    ends_right(robot, gpu)


def pull_and_plug(watch: Watch, cable: Cable) -> None:
    """The cable is out for a while of robot time: the arm stands meanwhile, and goes on by itself."""
    watch.wait(lambda: watch.driving(watch.now - 1.0, 8), 120, "a driven phase")
    pulled = watch.now
    cable.pull()
    watch.wait(lambda: watch.now > pulled + CUT, 120, "the time of the cut")
    plugged = watch.now
    cable.plug()
    watch.wait(lambda: watch.driving(plugged, 4, phase=False), 120, "a driven step after the cut")
    dark = watch.between(pulled, plugged)
    held_after = commanded_until(dark) - pulled
    assert held_after <= LIMIT + lateness(dark), f"{held_after:.2f} s, late {lateness(dark):.2f} s"
    again = min(s.at for s in watch.steps if s.at > plugged and s.driver in DRIVEN)
    print(f"held {max(held_after, 0.0):.2f} s after the cut, drove again {again - plugged:.2f} s after its end")


def has_newest_weights(listener: Listener) -> bool:
    """Whether the actor has what the learner gave out last."""
    learner, actor = (newest(listener, f"/rlt/{node}_stats", "weights_version") for node in ("learner", "actor"))
    return 0 < learner == actor


def test_two_checkpoints_are_refused_with_both_fingerprints(
    stage2: Start, cable: Cable, checkpoint: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    config = json.loads((checkpoint / "config.json").read_text())
    config["contract"]["instruction"] = "do something else"
    (other / "config.json").write_text(json.dumps(config))
    theirs, ours = read_contract(checkpoint).fingerprint, read_contract(other).fingerprint
    domain = new_domain()
    robot = stage2(domain=domain, machine=cable.robot, role="robot", run_dir=tmp_path / "robot", checkpoint=other)
    stage2(domain=domain, machine=cable.gpu, role="gpu", run_dir=tmp_path / "gpu")
    for node in ("features", "learner"):
        robot.wait_for_line(f"/rlt/{node} on gpu-pc does not fit: its Stage-1 contract is {theirs}, ours {ours}", 120)
    robot.wait_for_line(f"features: features are of contract '{theirs}'; this actor's is '{ours}'", 120)


def test_one_machine_alone_says_what_it_waits_for_and_leaves(stage2: Start, cable: Cable, tmp_path: Path) -> None:
    robot = stage2(machine=cable.robot, role="robot", run_dir=tmp_path / "robot")
    robot.wait_for_line("here: actor, executor, observation, sim, teleop; on other machines: features, learner", 60)
    robot.wait_for_line("waiting for features and learner", 120)
    robot.send(signal.SIGINT)
    assert robot.end(60) == 0 and TRACEBACK not in robot.text


def test_roles_want_a_checkpoint(stage2: Start) -> None:
    graph = stage2(role="gpu", checkpoint=None)
    assert graph.end(60) == 1
    assert "with the nodes on several machines checkpoint:=DIR is needed" in graph.text
