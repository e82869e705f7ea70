"""A bag beside a driving executor: real processes over real DDS. Field report B36."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from geometry_msgs.msg import PoseStamped
from graph import Graph, Listener
from rosgraph_msgs.msg import Clock

pytest.importorskip("franka_msgs.msg", reason="franka_msgs is not built here")
pytest.importorskip("rosbags")
from rig import Rig

from rlt_ros import msg
from rlt_ros.data.bags.bag import Bag
from rlt_ros.nodes import qos


@pytest.fixture()
def rig() -> Iterator[Rig]:
    """An executor that drives, alone with what it needs."""
    rig = Rig()
    try:
        rig.until(rig.drives, "motion")
        yield rig
    finally:
        rig.close()


def test_a_bag_beside_a_live_executor_moves_nothing(rig: Rig, tmp_path: Path) -> None:
    """Field report B36: neither played as it is nor by the replay, which keeps out of its way."""
    bag, env = tmp_path / "bag", {**os.environ, "ROS_DOMAIN_ID": str(rig.domain)}
    topics = ("/rlt/action_chunk", "/rlt/policy_mode", "/rlt/observation", "/target_pose")
    recorder = subprocess.Popen(["ros2", "bag", "record", "-o", bag, "--topics", *topics], env=env)
    rig.run(12.0)
    recorder.send_signal(signal.SIGINT)
    rig.until(lambda: recorder.poll() is not None, "the end of the recorder")
    assert all(there > 20 for there in recorded(bag).values()), recorded(bag)
    # Words and observations go on, but nobody decides: only a chunk of the bag could move the arm now.
    rig.decides = False
    rig.until(lambda: rig.drives(msg.ExecutedStep.HOLD), "a hold")
    heard: dict[str, list] = {
        name: [] for name in ("/rlt/action_chunk", "/replay/rlt/action_chunk", "/replay/target_pose")
    }
    for name, kind in zip(heard, (msg.ActionChunk, msg.ActionChunk, PoseStamped), strict=True):
        rig.node.create_subscription(kind, name, heard[name].append, qos.TRANSITIONS)
    rig.run(0.5)
    began, held, refused = time.time_ns(), len(rig.steps), int(rig.value("counts", "refused_action_chunk") or 0)
    played = ["ros2", "bag", "play", bag, "--delay", "4", "--topics", *topics[:3]]
    carried_out(rig, played, env)
    assert len(heard["/rlt/action_chunk"]) > 20
    assert int(rig.value("counts", "refused_action_chunk")) > refused
    carried_out(rig, ["ros2", "run", "rlt_ros", "replay", bag], env)
    assert len(heard["/replay/rlt/action_chunk"]) > 20 and len(heard["/replay/target_pose"]) > 20
    rig.run(1.0)
    assert {step.driver for step in rig.steps[held:]} == {msg.ExecutedStep.HOLD}
    assert rig.last_motion() < began


def recorded(bag: Path) -> dict[str, int]:
    with Bag(bag) as opened:
        return opened.counts


def carried_out(rig: Rig, command: list, env: dict[str, str]) -> None:
    """Run a command to its end beside the rig."""
    process = subprocess.Popen(list(map(str, command)), env=env)
    rig.until(lambda: process.poll() is not None, f"the end of {command}", timeout=120.0)
    assert process.returncode == 0


SHOWN = {
    "/clock": (Clock, qos.SENSOR),
    "/rlt/actor_stats": (msg.ActorStats, qos.STATS),
    "/rlt/executed_step": (msg.ExecutedStep, qos.STEP),
    "/target_pose": (PoseStamped, qos.COMMAND),
    "/replay/clock": (Clock, qos.SENSOR),
    "/replay/rlt/actor_stats": (msg.ActorStats, qos.STATS),
    "/replay/rlt/executed_step": (msg.ExecutedStep, qos.STEP),
    "/replay/rlt/action_chunk": (msg.ActionChunk, qos.STEP),
    "/replay/target_pose": (PoseStamped, qos.COMMAND),
}
STEPS = "/replay/rlt/executed_step"
OFFSET = 4.0


def test_the_bag_of_a_run_is_looked_at_with_clock_loop_and_offset_and_commands_nothing(
    stage2: Callable[..., Graph], rig: Rig, tmp_path: Path
) -> None:
    """First alone, then beside an executor that drives: `into:=view` of a run in lockstep, which has no /clock."""
    bag = bag_of_a_run(stage2)
    alone = Listener(SHOWN)
    try:
        with view(tmp_path / "alone.log", bag, alone.domain) as shown:
            rig.until(lambda: alone.spin(0.0) and looped(alone), "the second time through", 180)
            check_offset(bag, alone)
            assert alone.received["/clock"] and alone.received["/rlt/actor_stats"]
            assert not alone.received["/rlt/executed_step"] and not alone.received["/target_pose"]
            ended(shown, rig)
    finally:
        alone.close()
    beside_an_executor(bag, rig, tmp_path)


def beside_an_executor(bag: Path, rig: Rig, tmp_path: Path) -> None:
    """Nobody decides any more, so that whatever moved the arm would be the bag's."""
    beside = Listener(SHOWN, rig.domain)
    try:
        rig.decides = False
        rig.until(lambda: rig.drives(msg.ExecutedStep.HOLD), "a hold")
        rig.run(0.5)
        began, held = time.time_ns(), len(rig.steps)
        with view(tmp_path / "beside.log", bag, rig.domain) as shown:
            rig.until(lambda: beside.spin(0.0) and looped(beside), "the second time through", 180)
            # Which of the two is found first is up to discovery.
            why = "(an executor is running in /rlt|has a publisher: a robot is there)"
            assert re.search(f"{why}: everything is played under /replay, /clock is not played", shown.text)
            assert beside.received["/replay/rlt/action_chunk"] and beside.received["/replay/target_pose"]
            assert not beside.received["/clock"] and not beside.received["/rlt/actor_stats"]
            ended(shown, rig)
        assert {step.driver for step in rig.steps[held:]} == {msg.ExecutedStep.HOLD}
        # Under its own names, by hand: each chunk is refused, for it answers an observation of another time.
        refused = int(rig.value("counts", "refused_action_chunk") or 0)
        env = {**os.environ, "ROS_DOMAIN_ID": str(rig.domain)}
        carried_out(
            rig, ["ros2", "bag", "play", bag, "--delay", "4", "--rate", "4", "--topics", "/rlt/action_chunk"], env
        )
        rig.run(1.5)
        assert int(rig.value("counts", "refused_action_chunk")) > refused
        assert {step.driver for step in rig.steps[held:]} == {msg.ExecutedStep.HOLD}
        assert rig.last_motion() < began
    finally:
        beside.close()


def bag_of_a_run(stage2: Callable[..., Graph]) -> Path:
    options = {"record": "true", "record_profile": "full", "record_floor_gb": 0.1}
    graph = stage2(practice_minutes=0.35, eval_episodes=1, **options)
    assert graph.end(400) == 0, graph.text[-3000:]
    return graph.run_dir / "bag"


@contextmanager
def view(log: Path, bag: Path, domain: int) -> Iterator[Graph]:
    arguments = {"bag": bag, "into": "view", "loop": "true", "start_offset": OFFSET, "rate": 4.0}
    graph = Graph(log, arguments, "replay.launch.py", domain)
    try:
        yield graph
    finally:
        graph.abandon()


def ended(shown: Graph, rig: Rig) -> None:
    """As by Ctrl-C; a loop has no end of its own."""
    shown.send(signal.SIGINT, whole_group=True)
    rig.until(lambda: shown.process.poll() is not None, "the end of the replay")
    shown.abandon()


def numbers(listener: Listener) -> list[int]:
    return [step.observation_id for step in listener.received[STEPS]]


def looped(listener: Listener) -> bool:
    """Whether the steps have gone back to an earlier one, and some way on from there."""
    found = numbers(listener)
    back = [i for i, (first, second) in enumerate(zip(found, found[1:])) if second < first - 10]
    return bool(back) and len(found) > back[0] + 20


def check_offset(bag: Path, listener: Listener) -> None:
    """What was recorded before the offset is played neither the first time nor again."""
    with Bag(bag) as opened:
        begun = min(raw.receipt for raw in opened.raw(list(opened.kinds)))
        steps = [(raw.receipt, opened.message(raw).observation_id) for raw in opened.raw(["/rlt/executed_step"])]
    late = [number for receipt, number in steps if receipt >= begun + OFFSET * 1e9]
    assert len(late) > 50
    assert min(numbers(listener)) >= late[0]
