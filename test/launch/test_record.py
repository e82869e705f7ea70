"""A run that is recorded and replayed: real processes over real DDS, the bag against what the run itself kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from geometry_msgs.msg import PoseStamped
from graph import Graph, new_domain
from rig import Rig

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.rl.codec import encode
from rlt_ros.rl.journal import Journal

pytest.importorskip("rosbags")

from rlt_ros.data.bags.bag import Bag
from rlt_ros.data.bags.rows import contracted_rows

Start = Callable[..., Graph]
TRACEBACK = "Traceback (most recent call last)"


@pytest.fixture()
def launched(tmp_path: Path) -> Iterator[Start]:
    """Starts a launch file of this package; whatever still runs afterwards is ended."""
    started: list[Graph] = []

    def start(launch_file: str, domain: int | None = None, **arguments: object) -> Graph:
        started.append(Graph(tmp_path / f"other{len(started)}.log", arguments, launch_file, domain))
        return started[-1]

    yield start
    for graph in started:
        graph.abandon()


def test_a_recorded_run_can_be_learned_from_again(
    stage2: Start, launched: Start, checkpoint: Path, tmp_path: Path
) -> None:
    graph = stage2(practice_minutes=0.35, eval_episodes=2, record="true", record_profile="full", record_floor_gb=0.1)
    graph.wait_for(lambda: (graph.run_dir / "summary.json").exists(), 300, "the summary")
    assert graph.end(300) == 0, graph.text[-3000:]
    assert TRACEBACK not in graph.text
    check_counts(graph)
    bag, journal = graph.run_dir / "bag", list(Journal(graph.run_dir / "transitions"))
    rows = [row for _, row in contracted_rows(bag)]
    assert [encode(row) for row in rows] == [encode(row) for row in journal]
    assert len(rows) > 40
    for name in ("once", "twice"):
        replay = launched("replay.launch.py", bag=bag, into="learner", out=tmp_path / name)
        assert replay.end(300) == 0, replay.text
    live, once, twice = (
        (folder / "policy.safetensors").read_bytes()
        for folder in (graph.run_dir, tmp_path / "once", tmp_path / "twice")
    )
    assert once == twice
    assert once == live
    check_features(graph.run_dir, checkpoint, tmp_path)
    replay = launched("replay.launch.py", bag=bag, into="features", checkpoint=checkpoint, out=tmp_path / "rows")
    assert replay.end(300) == 0, replay.text
    assert len(list(Journal(tmp_path / "rows" / "transitions"))) == len(journal)


def check_features(run_dir: Path, checkpoint: Path, tmp_path: Path) -> None:
    """Through the very checkpoint and seed of the run the same rows come out, also from the cameras' own pictures."""
    journal = list(Journal(run_dir / "transitions"))
    for pictures in ("observation", "cameras"):
        out = tmp_path / pictures
        words = [
            "rows-from-bag",
            run_dir / "bag",
            "--checkpoint",
            checkpoint,
            "--out",
            out,
            "--seed",
            "1",
            "--batch",
            "1",
        ]
        command = [sys.executable, "-m", "rlt_ros", *map(str, words), "--seed", "1", "--pictures", pictures]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        made = list(Journal(out / "transitions"))
        assert [encode(replace(row, stream="")) for row in made] == [encode(replace(r, stream="")) for r in journal]


def check_counts(graph: Graph) -> None:
    """The recorder says what it lacks, in the run's summary too, and it lacks nothing that has a number."""
    summary = json.loads((graph.run_dir / "summary.json").read_text())
    told = summary["recording"]
    assert told == json.loads((graph.run_dir / "bag_counts.json").read_text())
    topics = told["topics"]
    numbered = {topic: count for topic, count in topics.items() if count["lost"] is not None and count["exact"]}
    chunks = numbered.pop("/rlt/action_chunk")  # depth 1: a publisher that is not waited for may overwrite one
    assert chunks["lost"] <= 0.1 * chunks["messages"]
    assert set(numbered) == {"/rlt/observation", "/rlt/executed_step", "/rlt/policy_mode", "/rlt/transition"}
    assert {topic: count["lost"] for topic, count in numbered.items()} == dict.fromkeys(numbered, 0), graph.text[-3000:]
    assert topics["/rlt/transition"]["messages"] >= summary["transitions"]["published"]
    for topic in ("/front/color/image_raw", "/target_pose", "/rlt/policy_weights", "/clock", "/tf_static"):
        assert topics[topic]["messages"] > 0, topic
    assert told["faults"] == []


def test_a_collecting_session_is_recorded_by_itself_and_from_outside(launched: Start, tmp_path: Path) -> None:
    domain, outside = new_domain(), tmp_path / "bags" / "outside"
    recorder = launched("record.launch.py", domain, bag=outside, record_floor_gb=0.1)
    recorder.wait_for_line("Recording...")
    options = {"demonstrator": "expert", "seed": 1, "record_profile": "full", "record_floor_gb": 0.1}
    graph = launched("collect.launch.py", domain, out=tmp_path / "demos", episodes=2, record="true", **options)
    assert graph.end(300) == 0, graph.text[-3000:]
    recorder.send(signal.SIGINT)
    assert recorder.end(120) == 0, recorder.text
    for bag in (tmp_path / "demos_bag", outside):
        told = json.loads((bag.parent / f"{bag.name}_counts.json").read_text())
        assert told["faults"] == []
        steps = told["topics"]["/rlt/executed_step"]
        assert (steps["lost"], steps["exact"]) == (0, True)
        assert steps["messages"] > 50
    assert "/rlt/observation" not in told["topics"]  # learning is the default


def test_below_the_floor_the_run_goes_on_without_a_bag(stage2: Start) -> None:
    graph = stage2(practice_minutes=0.1, eval_episodes=1, record="true", record_floor_gb=1e9)
    graph.wait_for_line(r"record: not begun: .* GB are free for .*, the floor is 1e\+09 GB .*; the run goes on")
    graph.wait_for(lambda: (graph.run_dir / "summary.json").exists(), 300, "the summary")
    assert graph.end() == 0
    assert not (graph.run_dir / "bag").exists()


def test_a_killed_recorder_ends_nothing_and_its_bag_is_mended(stage2: Start, launched: Start, tmp_path: Path) -> None:
    graph = stage2(practice_minutes=30, record="true", record_floor_gb=0.1)
    graph.wait_for_line(r"\[teleop-\d+\] practice .* episode [2-9]", 240)
    player = graph.wait_for(lambda: bag_process(graph), 30, "the recorder")
    graph.wait_for(lambda: size(graph.run_dir / "bag") > 100_000, 120, "a bag of some size")
    player.send_signal(signal.SIGKILL)
    graph.wait_for_line(r"record: the recorder has ended by itself, exit code -9; the run goes on")
    episode = graph.text.count("practice ")
    graph.wait_for(lambda: graph.text.count("practice ") > episode, 120, "the next episode")
    graph.send(signal.SIGINT)
    assert graph.end() == 0
    bag = graph.run_dir / "bag"
    assert not (bag / "metadata.yaml").exists()
    replay = launched("replay.launch.py", bag=bag, into="learner", out=tmp_path / "again")
    assert replay.end(300) == 0, replay.text
    assert "It is mended first" in replay.text
    found = [encode(row) for _, row in contracted_rows(bag)]
    journal = [encode(row) for row in Journal(graph.run_dir / "transitions")]
    assert 0 < len(found) <= len(journal)
    assert found == journal[: len(found)]


def bag_process(graph: Graph):
    import psutil

    for process in psutil.Process(graph.process.pid).children(recursive=True):
        words = process.cmdline()
        if "bag" in words and "record" in words:
            return process
    return None


def size(bag: Path) -> int:
    return sum(path.stat().st_size for path in bag.glob("*.mcap"))


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
    held, refused = len(rig.steps), int(rig.value("counts", "refused_action_chunk") or 0)
    played = ["ros2", "bag", "play", bag, "--delay", "4", "--topics", *topics[:3]]
    carried_out(rig, played, env)
    assert len(heard["/rlt/action_chunk"]) > 20
    assert int(rig.value("counts", "refused_action_chunk")) > refused
    carried_out(rig, [sys.executable, "-m", "rlt_ros.nodes.replay", bag], env)
    assert len(heard["/replay/rlt/action_chunk"]) > 20 and len(heard["/replay/target_pose"]) > 20
    rig.run(1.0)
    assert not any(step.driver == msg.ExecutedStep.VLA or step.commanded for step in rig.steps[held:])


def recorded(bag: Path) -> dict[str, int]:
    with Bag(bag) as opened:
        return opened.counts


def carried_out(rig: Rig, command: list, env: dict[str, str]) -> None:
    """Run a command to its end beside the rig."""
    process = subprocess.Popen(list(map(str, command)), env=env)
    rig.until(lambda: process.poll() is not None, f"the end of {command}", timeout=120.0)
    assert process.returncode == 0
