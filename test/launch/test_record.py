"""A run that is recorded and replayed: real processes over real DDS, the bag against what the run itself kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from graph import Graph, new_domain

from rlt_ros.rl.codec import encode
from rlt_ros.rl.journal import Journal

pytest.importorskip("rosbags")

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
    domain, killed = new_domain(), tmp_path / "killed"
    outside = launched("record.launch.py", domain, bag=killed, record_floor_gb=0.1)
    outside.wait_for_line("Recording...")
    options = {"record": "true", "record_profile": "full", "record_floor_gb": 0.1}
    graph = stage2(domain, practice_minutes=0.35, eval_episodes=2, **options)
    recorder = outside.wait_for(lambda: bag_process(outside), 30, "the recorder")
    outside.wait_for(lambda: size(killed) > 500_000, 240, "a bag of some size")
    recorder.send_signal(signal.SIGKILL)
    outside.wait_for_line(r"record: the recorder has ended by itself, exit code -9; the run goes on")
    graph.wait_for(lambda: (graph.run_dir / "summary.json").exists(), 300, "the summary")
    assert graph.end(300) == 0, graph.text[-3000:]
    assert TRACEBACK not in graph.text
    check_counts(graph)
    check_learner(graph.run_dir, launched, tmp_path)
    check_features(graph.run_dir, checkpoint, launched, tmp_path)
    check_killed(killed, graph.run_dir, checkpoint, launched, tmp_path)


def check_learner(run_dir: Path, launched: Start, tmp_path: Path) -> None:
    """Rows of the bag are those of the run, and twice they give its weights, bit for bit."""
    rows = [encode(row) for _, row in contracted_rows(run_dir / "bag")]
    assert rows == [encode(row) for row in Journal(run_dir / "transitions")]
    assert len(rows) > 40
    for name in ("once", "twice"):
        replay = launched("replay.launch.py", bag=run_dir / "bag", into="learner", out=tmp_path / name)
        assert replay.end(300) == 0, replay.text
    runs = (run_dir, tmp_path / "once", tmp_path / "twice")
    live, once, twice = ((folder / "policy.safetensors").read_bytes() for folder in runs)
    assert once == twice
    assert once == live


def check_features(run_dir: Path, checkpoint: Path, launched: Start, tmp_path: Path) -> None:
    """Through the very checkpoint and seed of the run the same rows come out, also from the cameras' own pictures."""
    journal = list(Journal(run_dir / "transitions"))
    words = ["rows-from-bag", run_dir / "bag", "--checkpoint", checkpoint, "--out", tmp_path / "same", "--batch", "1"]
    command = [sys.executable, "-m", "rlt_ros", *map(str, words), "--seed", "1", "--pictures", "cameras"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    made = [encode(replace(row, stream="")) for row in Journal(tmp_path / "same" / "transitions")]
    assert made == [encode(replace(row, stream="")) for row in journal]
    options = {"into": "features", "checkpoint": checkpoint, "out": tmp_path / "rows"}
    replay = launched("replay.launch.py", bag=run_dir / "bag", **options)
    assert replay.end(300) == 0, replay.text
    assert len(list(Journal(tmp_path / "rows" / "transitions"))) == len(journal)


def check_killed(bag: Path, run_dir: Path, checkpoint: Path, launched: Start, tmp_path: Path) -> None:
    """What a killed recorder left is mended by the replay, and is the beginning of the run."""
    assert not (bag / "metadata.yaml").exists()
    options = {"into": "learner", "checkpoint": checkpoint, "out": tmp_path / "again"}
    replay = launched("replay.launch.py", bag=bag, **options)
    assert replay.end(300) == 0, replay.text
    assert "It is mended first" in replay.text
    found = [encode(row) for _, row in contracted_rows(bag)]
    journal = [encode(row) for row in Journal(run_dir / "transitions")]
    assert 0 < len(found) <= len(journal)
    assert found == journal[: len(found)]


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


def test_recording_stops_at_the_floor_and_says_so(tmp_path: Path) -> None:
    """On a disk that fills up while it is recorded; field report B32."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        done = subprocess.run(recording(disk / "bag", floor=1.0), capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert f"record: not begun: 0.04 GB are free for {disk}, the floor is 1 GB" in done.stderr
        assert not (disk / "bag").exists()
        with (tmp_path / "log").open("w+") as log:
            recorder = subprocess.Popen(recording(disk / "bag", floor=0.02), stdout=log, stderr=log)
            await_line(tmp_path / "log", "Recording...")
            (disk / "filler").write_bytes(bytes(25_000_000))
            assert recorder.wait(60) == 1
        assert "record: stopped: 0.02 GB are free" in (tmp_path / "log").read_text()
        assert (disk / "bag" / "metadata.yaml").exists()
        assert json.loads((disk / "bag_counts.json").read_text())["faults"]
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def recording(bag: Path, floor: float) -> list[str]:
    """Command line of the recorder alone."""
    profile = Path(__file__).parents[2] / "config" / "record" / "learning.yaml"
    words = ["--out", bag, "--profile", profile, "--floor-gb", floor]
    return [sys.executable, "-m", "rlt_ros.data.bags.record_cli", *map(str, words)]


def await_line(log: Path, line: str) -> None:
    """Wait until a process has said something."""
    end = time.monotonic() + 60
    while line not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


def bag_process(graph: Graph):
    import psutil

    for process in psutil.Process(graph.process.pid).children(recursive=True):
        words = process.cmdline()
        if "bag" in words and "record" in words:
            return process
    return None


def size(bag: Path) -> int:
    return sum(path.stat().st_size for path in bag.glob("*.mcap"))
