"""`ros2 launch rlt_ros collect.launch.py`: real processes over real DDS. Field reports B24, B30, B31, B32."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from graph import Graph, Listener
from recorder import OWN_TOPICS, Person, write_bag

from rlt_ros import msg, srv
from rlt_ros.cli import main
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.reader import DatasetReader

TRACEBACK = "Traceback (most recent call last)"
BEGIN, SUCCESS, DISCARD = srv.LabelEpisode.Request.BEGIN, srv.LabelEpisode.Request.SUCCESS, 3
HUMAN = srv.SetPolicyMode.Request.HUMAN
UPWARDS = 0.2
Start = Callable[..., Graph]
TOPICS = OWN_TOPICS | {"/rlt/policy_mode": (msg.PolicyMode, None)}


@pytest.fixture()
def collect(tmp_path: Path) -> Iterator[Start]:
    """Starts `ros2 launch rlt_ros collect.launch.py` with the exact expert; whatever still runs afterwards is ended."""
    started: list[Graph] = []

    def start(domain: int | None = None, **arguments: object) -> Graph:
        defaults = {"out": tmp_path / "demos", "demonstrator": "expert", "seed": 1}
        log = tmp_path / f"launch{len(started)}.log"
        started.append(Graph(log, defaults | arguments, "collect.launch.py", domain))
        return started[-1]

    yield start
    for graph in started:
        graph.abandon()


@pytest.fixture()
def stick(request: pytest.FixtureRequest) -> Callable[[Graph, float], None]:
    """A person's hand on the device, in a process of its own: the test's is too busy to send in time."""

    def hold(graph: Graph, upwards: float) -> None:
        script = Path(__file__).with_name("hold_stick.py")
        env = {**os.environ, "ROS_DOMAIN_ID": str(graph.domain)}
        process = subprocess.Popen([sys.executable, script, str(upwards)], env=env)
        request.addfinalizer(lambda: (process.kill(), process.wait()))

    return hold


def saved(graph: Graph) -> int:
    """Demonstrations that the collector has reported as saved."""
    return len(re.findall(r"demonstration \d+ saved", graph.text))


def critical(listener: Listener, steps: int) -> bool:
    """Whether a phase has been under way for so many steps."""
    listener.spin()
    newest = listener.received["/rlt/executed_step"][-steps:]
    return len(newest) == steps and len({step.phase_id for step in newest}) == 1 and newest[0].phase_id > 0


def check(out: Path, episodes: int) -> DatasetReader:
    """The dataset loads, on its grid, nothing is left beside it."""
    dataset = DatasetReader(out)
    assert len(dataset) == episodes
    dataset.check_videos()
    for episode in dataset:
        episode.check_grid(20)
        assert bool(episode.arrays["next.success"][-1]) and len(episode) > 10
    assert not list(out.rglob("*partial*"))
    return dataset


def same(one: Episode, other: Episode) -> None:
    for key in ("observation.state", "action", "driver", "stamp", "timestamp", "next.success"):
        assert np.array_equal(one.arrays[key], other.arrays[key]), key
    for key in ("observation.images.front", "observation.images.wrist"):
        for a, b in zip(one.pictures(key), other.pictures(key), strict=True):
            assert np.array_equal(a, b)


def test_scripted_demonstrations_end_by_themselves_and_the_same_seed_gives_the_same_dataset(
    collect: Start, tmp_path: Path
) -> None:
    graph = collect(episodes=2)
    assert graph.end(240) == 0
    assert "dataset" in graph.text.partition("saved 2 demonstrations")[2]
    assert TRACEBACK not in graph.text and "process has died" not in graph.text
    first = check(tmp_path / "demos", 2)
    [run] = json.loads((tmp_path / "demos/collection.json").read_text())["runs"]
    assert run["saved"] == 2 and run["frames"] == first.frames and run["refused"] == []
    again = collect(episodes=2, out=tmp_path / "again")
    assert again.end(240) == 0
    for one, other in zip(first, check(tmp_path / "again", 2), strict=True):
        same(one, other)


def test_collector_and_bag_of_a_run_tell_the_same_story(collect: Start, listener: Listener, tmp_path: Path) -> None:
    graph = collect(domain=listener.domain, episodes=0)
    # Nodes may be well under way before they have found a recorder: its bag begins in the middle, and that is said.
    graph.wait_for(lambda: listener.spin() and listener.newest("/rlt/observation"), 240, "an observation")
    before = saved(graph)
    graph.wait_for(lambda: listener.spin() and saved(graph) >= before + 4, 120, "demonstrations that it has heard")
    graph.send(signal.SIGINT, whole_group=True)
    assert graph.end() == 0
    bag = write_bag({topic: listener.received[topic] for topic in OWN_TOPICS}, tmp_path / "bag")
    assert main(["bag-to-lerobot", str(bag), str(tmp_path / "from_bag")]) == 0
    recorded = {int(episode.arrays["stamp"][0]): episode for episode in DatasetReader(tmp_path / "demos")}
    converted = {int(episode.arrays["stamp"][0]): episode for episode in DatasetReader(tmp_path / "from_bag")}
    shared = recorded.keys() & converted.keys()
    assert len(shared) >= 2
    # It may begin within a demonstration, and Ctrl-C may come between a label and what the collector makes of it.
    assert converted.keys() - shared <= {min(converted), max(converted)}
    for stamp in shared:
        same(recorded[stamp], converted[stamp])


def test_discarded_and_interrupted_demonstrations_leave_nothing_and_recording_can_be_resumed(
    collect: Start, listener: Listener, tmp_path: Path
) -> None:
    graph = collect(domain=listener.domain, episodes=0)
    person = Person(graph, listener)
    graph.wait_for(lambda: listener.spin() and saved(graph) >= 1, 240, "a saved demonstration")
    graph.wait_for(lambda: person.label(DISCARD).success, 60, "a demonstration to discard")
    graph.wait_for(lambda: listener.spin() and "not kept (discard)" in graph.text, 60, "a discarded demonstration")
    before = saved(graph)
    graph.wait_for(lambda: listener.spin() and saved(graph) > before, 60, "a saved demonstration after it")
    graph.wait_for(lambda: critical(listener, 5), 60, "a demonstration under way")
    graph.send(signal.SIGINT, whole_group=True)
    assert graph.end() == 0
    assert TRACEBACK not in graph.text and "process has died" not in graph.text
    kept = saved(graph)
    assert f"saved {kept} demonstrations" in graph.text and "interrupted: recording has ended" in graph.text
    check(tmp_path / "demos", kept)
    resumed = collect(episodes=1, resume="true", seed=2)
    assert resumed.end(240) == 0
    check(tmp_path / "demos", kept + 1)


def test_a_killed_collector_leaves_a_valid_dataset_and_ends_the_run(
    collect: Start, listener: Listener, tmp_path: Path
) -> None:
    graph = collect(domain=listener.domain, episodes=0)
    graph.wait_for(lambda: saved(graph) >= 1, 240, "a saved demonstration")
    graph.wait_for(lambda: critical(listener, 8), 60, "a demonstration that is being written")
    graph.node("collector").kill()
    assert graph.end() == 1
    assert "nothing was recorded any more" in graph.text
    dataset = DatasetReader(tmp_path / "demos")
    assert saved(graph) <= len(dataset) <= saved(graph) + 1
    assert all(len(list(e.pictures("observation.images.wrist"))) == len(e) for e in dataset)


@pytest.fixture()
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=280m", "none", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_ends_a_scripted_run_and_what_was_saved_is_valid(collect: Start, small_disk: Path) -> None:
    graph = collect(out=small_disk / "demos", episodes=0)
    graph.wait_for(lambda: saved(graph) >= 1, 240, "a saved demonstration")
    with (small_disk / "filler").open("wb") as filler:
        # Room for what is being written now, far less than what a demonstration may be begun with.
        os.posix_fallocate(filler.fileno(), 0, shutil.disk_usage(small_disk).free - 2**22)
    assert graph.end(240) == 1
    assert "NOT RECORDING: " in graph.text and "nothing was recorded any more" in graph.text
    check(small_disk / "demos", saved(graph))


def test_a_person_at_the_arm_in_real_time_goes_back_by_hand(
    collect: Start, listener: Listener, stick: Callable[[Graph, float], None], tmp_path: Path
) -> None:
    by_hand = {"operator": "person", "reset": "false", "pictures": "full", "demonstrator": None}
    graph = collect(domain=listener.domain, episodes=2, **by_hand)
    person = Person(graph, listener)
    stick(graph, UPWARDS)
    graph.wait_for(lambda: listener.spin() and listener.newest("/rlt/policy_mode"), 120, "the operator's word")
    assert "no episode is under way" in person.label(BEGIN).message
    # While nodes still look for each other, or under load, a control step may be missed, and the demonstration refused.
    until(lambda: "not kept (discard)" in graph.text, lambda: demonstrate(graph, listener, person, DISCARD))
    until(lambda: saved(graph) == 2, lambda: demonstrate(graph, listener, person, SUCCESS))
    assert graph.end(60) == 0
    assert "saved 2 demonstrations" in graph.text and "discarded 1, " in graph.text
    for episode in DatasetReader(tmp_path / "demos"):
        episode.check_grid(20)
        driven = episode.arrays["driver"] == msg.ExecutedStep.HUMAN
        assert len(episode) >= 14 and driven.sum() >= 5
        assert np.median(episode.arrays["action"][driven, 2]) == pytest.approx(UPWARDS, abs=1e-3)
        assert (np.diff(episode.arrays["stamp"]) > 0).all(), "the observations' own stamps [ns]"
        [first, *_] = episode.pictures("observation.images.front")
        assert first.shape == (128, 128, 3)


def demonstrate(graph: Graph, listener: Listener, person: Person, label: int) -> None:
    """Mode human, begin, a while, a label, and wait for what becomes of it."""
    settled = len(re.findall(r"demonstration \d+ (saved|refused|not kept)", graph.text))
    assert person.mode(HUMAN).success
    graph.wait_for(lambda: person.label(BEGIN).success, 60, "begin")
    graph.wait_for(lambda: critical(listener, 15), 60, "a demonstration")
    assert person.label(label).success
    done = lambda: re.findall(r"demonstration \d+ (saved|refused|not kept)", graph.text)  # noqa: E731
    wait_until(lambda: listener.spin() and len(done()) > settled)


def until(what: Callable[[], bool], attempt: Callable[[], None], attempts: int = 8) -> None:
    """Try until a condition holds."""
    for _ in range(attempts):
        if what():
            return
        attempt()
    assert what()


def wait_until(what: Callable[[], bool], timeout: float = 30.0) -> None:
    """Wait for something that the end of the launch may follow at once."""
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"robot": "franka", "operator": "scripted"}, "operator:=scripted needs robot:=sim"),
        ({"resume": "true"}, "holds no dataset"),
        ({"out": "."}, "exists already"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_moves(collect: Start, arguments: dict, reason: str) -> None:
    graph = collect(**arguments)
    assert graph.end(60) == 1
    assert reason in graph.text and "process started" not in graph.text
