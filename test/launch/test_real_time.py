"""The whole graph in real time: real processes over real DDS, steady clocks, nobody waits for anybody.

Field reports A07, A37, B02, B36, C10. A busy machine is late: what a test allows is counted against the lateness that
it measures itself.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from graph import Graph, Listener, at_once
from std_msgs.msg import Header

from rlt_ros import msg
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import stamp_of

pytestmark = pytest.mark.idle

PERIOD = 0.05
TRACEBACK = "Traceback (most recent call last)"
STEPS, TARGETS, SAID = "/rlt/executed_step", "/target_pose", "/diagnostics"
TOPICS = {
    STEPS: (msg.ExecutedStep, None),
    TARGETS: (PoseStamped, qos.COMMAND),
    SAID: (DiagnosticArray, None),
    "/rlt/action_chunk": (msg.ActionChunk, None),
    "/rlt/observation": (msg.Observation, None),
}
TIMED = (STEPS, TARGETS)
DRIVEN = (msg.ExecutedStep.VLA, msg.ExecutedStep.ACTOR)
Start = Callable[..., Graph]


class Watch(Listener):
    """A listener that notes when executed steps and commands were sent, in seconds of the system clock."""

    def __init__(self) -> None:
        super().__init__({topic: of for topic, of in TOPICS.items() if topic not in TIMED})
        self.sent: dict[str, list[float]] = {topic: [] for topic in TIMED}
        for topic in TIMED:
            self.received[topic] = []
            kind = TOPICS[topic][0]
            self.node.create_subscription(kind, topic, partial(self._note, topic), qos.TRANSITIONS)

    def _note(self, topic: str, message: Any, info: Any) -> None:
        self.received[topic].append(message)
        self.sent[topic].append(info["source_timestamp"] / 1e9)

    def late(self, since: float = 0.0) -> float:
        """Seconds that this graph lost to the machine: what executed steps were later than their period."""
        times = [t for t in self.sent[STEPS] if t >= since]
        return float(sum(max(0.0, b - a - 1.5 * PERIOD) for a, b in zip(times, times[1:])))

    def status(self, part: str) -> object:
        """The newest status of a part of the executor."""
        statuses = [s for array in self.received[SAID] for s in array.status]
        return next((s for s in reversed(statuses) if s.name == f"rlt/executor: {part}"), None)


@pytest.fixture()
def watch(request: pytest.FixtureRequest) -> Watch:
    """Opened before the graph, in the domain that the graph must be given."""
    policy = os.sched_getscheduler(0), os.sched_getparam(0)
    if at_once():
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    opened = Watch()
    request.addfinalizer(lambda: (opened.close(), os.sched_setscheduler(0, *policy)))
    return opened


@pytest.fixture()
def start(tmp_path: Path, checkpoint: Path, quick: Path, watch: Watch) -> Iterator[Start]:
    """Starts a launch file in real time; whatever still runs afterwards is ended."""
    started: list[Graph] = []
    parameters = yaml.safe_load(quick.read_text())
    # The learner can wait, everything else must not, whatever else runs on this machine.
    parameters["/**/learner"]["ros__parameters"]["nice"] = 10
    quick.write_text(yaml.safe_dump(parameters))

    def run(launch_file: str = "stage2.launch.py", **arguments: object) -> Graph:
        defaults: dict[str, object] = {"lockstep": "false", "params_file": quick, "seed": 1}
        if launch_file == "stage2.launch.py":
            defaults |= {"run_dir": tmp_path / "run", "checkpoint": checkpoint, "practice_minutes": 30}
        else:
            # A demonstration may take longer than the quick sessions of stage2 allow.
            defaults |= {"out": tmp_path / "demos", "demonstrator": "expert", "params_file": None}
        log = tmp_path / f"launch{len(started)}.log"
        started.append(Graph(log, defaults | arguments, launch_file, watch.domain, words=at_once()))
        return started[-1]

    yield run
    for graph in started:
        graph.abandon()


def episodes(watch: Watch) -> int:
    """Resets that were reported."""
    watch.spin()
    return sum(step.reset_done for step in watch.received[STEPS])


def starved(steps: list[msg.ExecutedStep]) -> list[int]:
    """Observations at which the arm held for want of a chunk though a policy drove it just before."""
    return [
        b.observation_id
        for a, b in zip(steps, steps[1:])
        if a.driver in DRIVEN and b.driver == msg.ExecutedStep.HOLD and b.reason.startswith("starved")
    ]


def test_a_session_runs_from_chunk_to_chunk_without_a_hold(start: Start, watch: Watch) -> None:
    graph = start()
    graph.wait_for(lambda: episodes(watch) >= 2, 240, "episodes")
    begun = len(watch.received[STEPS])
    since = watch.sent[STEPS][-1]
    graph.wait_for(lambda: episodes(watch) >= 6, 240, "more episodes")
    assert TRACEBACK not in graph.text
    steps, late = watch.received[STEPS][begun:], watch.late(since)
    ids = [step.observation_id for step in steps]
    assert len(ids) == len(set(ids)), "one executed step per observation"
    policy = [step for step in steps if step.driver in DRIVEN]
    assert len(policy) > 100
    held = starved(steps)
    assert len(held) <= 1 + late / PERIOD, f"{held}, while the machine lost {late:.2f} s"
    begins = [b for a, b in zip(policy, policy[1:]) if b.chunk_id != a.chunk_id]
    assert len(begins) > 10
    assert np.median([step.chunk_index for step in begins]) <= 3, "decided shortly before the boundary"
    for step in policy:
        assert step.observation_id - step.chunk_id >= step.chunk_index, "no row before its time"
    check_commands(watch, since, late)


def check_commands(watch: Watch, since: float, late: float) -> None:
    """Set-points keep coming at 50 Hz and never jump."""
    times = np.array([t for t in watch.sent[TARGETS] if t >= since])
    assert len(times) / (times[-1] - times[0]) > 45.0 * (1.0 - late / (times[-1] - times[0]))
    points = [np.array([p.pose.position.x, p.pose.position.y, p.pose.position.z]) for p in watch.received[TARGETS]]
    steps = np.linalg.norm(np.diff(points[-len(times) :], axis=0), axis=1)
    assert np.quantile(steps, 0.99) <= 0.25 * 0.02 + 1e-6, "limits.speed, except where a reset has moved the arm"


def test_the_expert_demonstrates_in_real_time(start: Start, watch: Watch, tmp_path: Path) -> None:
    graph = start("collect.launch.py", episodes=2)
    assert graph.end(240) == 0
    assert TRACEBACK not in graph.text and "process has died" not in graph.text
    dataset = DatasetReader(tmp_path / "demos")
    assert len(dataset) == 2
    for episode in dataset:
        episode.check_grid(20)
        assert bool(episode.arrays["next.success"][-1]) and 20 < len(episode) < 90
        human = episode.arrays["driver"] == msg.ExecutedStep.HUMAN
        assert human.mean() > 0.8


def test_when_observations_stop_the_arm_holds_and_says_so_and_goes_on_by_itself(start: Start, watch: Watch) -> None:
    graph = start()
    graph.wait_for(lambda: episodes(watch) >= 1 and starting(watch), 240, "an episode under way")
    node = graph.node("observation")
    node.suspend()
    stopped = time.time()
    try:
        graph.wait_for(lambda: watch.spin() and time.time() > stopped + 0.3, 30, "what was on its way")
        graph.wait_for(lambda: watch.spin() and bites(watch, "observation"), 30, "a bite")
        stopped = time.time()
        status = watch.status("watchdog observation")
        assert re.match(r"observation: silent for 0\.\d+ s, limit 0.15 s", status.message)
        graph.wait_for(lambda: watch.spin() and time.time() > stopped + 0.5, 30, "half a second")
        held = [p.pose for p, t in zip(watch.received[TARGETS], watch.sent[TARGETS]) if t > stopped + 0.1]
        ways = [np.linalg.norm(np.subtract(place(pose), place(held[0]))) for pose in held]
        assert len(held) > 5 and max(ways) < 1e-4, f"set-points keep coming, all the same: {ways}"
    finally:
        node.resume()
    before = len(watch.received[STEPS])
    moves = lambda: any(s.driver in DRIVEN for s in watch.received[STEPS][before:])  # noqa: E731
    graph.wait_for(lambda: watch.spin() and moves(), 60, "motion again")
    assert TRACEBACK not in graph.text


def place(pose: Any) -> tuple[float, float, float]:
    """Position of a pose message in m."""
    return pose.position.x, pose.position.y, pose.position.z


def starting(watch: Watch) -> bool:
    """The arm is being driven."""
    return bool(watch.received[STEPS]) and watch.received[STEPS][-1].driver in DRIVEN


def bites(watch: Watch, name: str) -> bool:
    """A watchdog says something now."""
    status = watch.status(f"watchdog {name}")
    return status is not None and bool(status.message) and status.level != b"\x00"


def test_replayed_messages_and_a_second_publisher_never_move_the_arm(start: Start, watch: Watch) -> None:
    """B36: what a bag of an older run would send, while the true graph runs."""
    graph = start()
    graph.wait_for(lambda: episodes(watch) >= 1 and starting(watch), 240, "an episode under way")
    node = watch.node
    chunks = node.create_publisher(msg.ActionChunk, "/rlt/action_chunk", qos.COMMAND)
    seen = node.create_publisher(msg.Observation, "/rlt/observation", qos.STEP)
    template, observation = watch.received["/rlt/action_chunk"][-1], watch.received["/rlt/observation"][-1]
    graph.wait_for(lambda: watch.spin() and chunks.get_subscription_count() >= 1, 30, "the executor")
    old = template.header.stamp.sec - 100
    for number in (template.features_id + 1, template.features_id + 5000):
        stale = Header(stamp=template.header.stamp)
        stale.stamp.sec = max(old, 0)
        template.features_id, template.header = number, stale
        chunks.publish(template)
        observation.id, observation.header.stamp = number, stale.stamp
        seen.publish(observation)
    refused = lambda: dict((v.key, v.value) for v in watch.status("counts").values)  # noqa: E731
    graph.wait_for(
        lambda: watch.spin() and int(refused().get("refused_observation", 0)) >= 2, 30, "refused observations"
    )
    assert "by its stamp it is" in graph.text
    after = len(watch.received[STEPS])
    graph.wait_for(lambda: watch.spin() and len(watch.received[STEPS]) > after + 40, 30, "steps")
    wrong = (template.features_id, template.features_id - 5000 + 1)
    assert not any(step.chunk_id in wrong for step in watch.received[STEPS] if step.driver in DRIVEN)
    second = node.create_publisher(PoseStamped, TARGETS, qos.COMMAND)
    says = lambda: (s := watch.status("command topic")) is not None and s.level != b"\x00"  # noqa: E731
    graph.wait_for(lambda: watch.spin() and says(), 30, "the second publisher named")
    assert "/target_pose has 2" in watch.status("command topic").message
    count = len(watch.received[TARGETS])
    graph.wait_for(lambda: watch.spin() and len(watch.received[STEPS]) > after + 80, 30, "steps")
    assert len(watch.received[TARGETS]) <= count + 20, "nothing is sent"
    assert any("publishers: /target_pose has 2" in step.reason for step in watch.received[STEPS][-20:])
    node.destroy_publisher(second)
    before = len(watch.received[STEPS])
    moves = lambda: any(s.driver in DRIVEN for s in watch.received[STEPS][before:])  # noqa: E731
    graph.wait_for(lambda: watch.spin() and moves(), 60, "motion again")
    assert stamp_of(template.header) >= 0 and TRACEBACK not in graph.text


def test_a_node_that_leaves_sends_a_last_hold(start: Start, watch: Watch) -> None:
    graph = start()
    graph.wait_for(lambda: episodes(watch) >= 1 and starting(watch), 240, "an episode under way")
    os.kill(graph.node("executor").pid, signal.SIGTERM)
    graph.wait_for(lambda: watch.spin() and graph.node("executor") is None, 60, "its end")
    watch.spin(0.5)
    last = [p.pose for p in watch.received[TARGETS][-2:]]
    step = np.linalg.norm(
        [last[1].position.x - last[0].position.x, last[1].position.y - last[0].position.y,
         last[1].position.z - last[0].position.z]
    )  # fmt: skip
    assert step == 0.0, "a hold where the set-points stood"
    assert TRACEBACK not in graph.text
