"""The robot's side in real time, with the simulated arm: one JSON line per measurement, a few minutes in all.

jitter: set-points at the command rate against their grid, with and without the learner training on the same cores, with
and without priorities. response: a press of stop, label and takeover to the control step that answers it.
latency: an observation's stamp to its command, without a VLA pass.

Real processes over real DDS. Times are the senders' own: the moment at which a message was published (source timestamp
of DDS, nanoseconds of the system clock), so how busy this process is does not matter.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from rlt_ros import msg, srv
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats, stamp_of

DOMAIN = 77
PERIOD_MS = 50.0
GIVE_UP = 240.0
"""s for a graph to get as far as it is measured."""
POSE = "/franka_robot_state_broadcaster/current_pose"
ALL = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
ALL_MEASURED = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Nothing that passes may be lost: a command and a set-point of the grid can follow each other within a millisecond."""
PATIENCE = 50
"""Presses, 0.1 s apart, until one is accepted."""
UPWARDS = 0.2
"""Deflection of the stick."""
TRAINING = {"warmup_episodes": 1, "warmup_rows": 20, "batch": 64, "bc_pretrain_updates": 200, "utd": 5000,
            "max_debt": 1_000_000, "gate_reference_error": 0.5, "gate_outcomes": "one", "gate_rows": 20}  # fmt: skip
RESTING = {"warmup_rows": 10_000_000}


class Tap:
    """A node of this process that notes what passes, each with the time at which it was sent."""

    def __init__(self) -> None:
        os.environ["ROS_DOMAIN_ID"] = str(DOMAIN)
        rclpy.init(domain_id=DOMAIN)
        self.node: Node = rclpy.create_node("bench")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.commands: list[tuple[int, tuple[float, ...]]] = []
        self.steps: list[tuple[int, msg.ExecutedStep]] = []
        self.observed: dict[int, int] = {}
        self.measured: dict[int, int] = {}
        self.updates = 0.0
        self.listen(PoseStamped, "/target_pose", ALL, lambda t, m: self.commands.append((t, _numbers(m))))
        self.listen(msg.ExecutedStep, "/rlt/executed_step", ALL, lambda t, m: self.steps.append((t, m)))
        self.listen(msg.Observation, "/rlt/observation", ALL, lambda t, m: self.observed.update({m.id: t}))
        self.listen(PoseStamped, POSE, ALL_MEASURED, lambda t, m: self.measured.update({stamp_of(m.header): t}))
        self.listen(msg.LearnerStats, "/rlt/learner_stats", qos.STATS, self._learned)

    def listen(self, kind: type, topic: str, profile: Any, take: Callable[[int, Any], None]) -> None:
        """Hand over every message of a topic with the time at which it was sent (ns)."""

        def note(message: Any, info: Any) -> None:
            take(int(info["source_timestamp"]), message)

        self.node.create_subscription(kind, topic, note, profile)

    def _learned(self, sent: int, stats: msg.LearnerStats) -> None:
        self.updates = float(stats.updates_per_second)

    def spin(self, seconds: float) -> None:
        """Receive for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=min(0.05, max(0.0, end - time.monotonic())))

    def wait_for(self, what: Callable[[], bool], why: str) -> None:
        """Receive until a condition holds; gives up with RuntimeError."""
        end = time.monotonic() + GIVE_UP
        while not what():
            if time.monotonic() > end:
                raise RuntimeError(f"{GIVE_UP:.0f} s without {why}")
            self.spin(0.05)

    def forget(self) -> None:
        """Begin anew."""
        for noted in (self.commands, self.steps, self.observed, self.measured):
            noted.clear()

    def close(self) -> None:
        """Leave."""
        self.node.destroy_node()
        rclpy.try_shutdown()


class Graph:
    """A launch file as a process group; its output goes to a file beside its parameters."""

    def __init__(self, launch_file: str, folder: Path, parameters: dict[str, dict], **arguments: object) -> None:
        nodes = {f"/**/{node}": {"ros__parameters": values} for node, values in parameters.items()}
        (folder / "params.yaml").write_text(yaml.safe_dump(nodes))
        given = [f"{k}:={v}" for k, v in arguments.items()] + [f"params_file:={folder / 'params.yaml'}"]
        self._log = (folder / "log").open("w")
        env = {**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "ROS_LOG_DIR": str(folder)}
        command = ["ros2", "launch", "rlt_ros", launch_file, "lockstep:=false", *given]
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=subprocess.STDOUT, env=env, start_new_session=True
        )

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()


# jitter


def jitter(tap: Tap, checkpoint: str, seconds: float) -> Iterator[dict[str, object]]:
    """One line for each of four graphs."""
    for training, priorities in itertools.product((False, True), (False, True)):
        with tempfile.TemporaryDirectory() as folder:
            run = {"checkpoint": checkpoint, "run_dir": f"{folder}/run", "practice_minutes": 60}
            with Graph("stage2.launch.py", Path(folder), nodes(training, priorities), **run):
                tap.forget()
                tap.wait_for(lambda: sum(s.reset_done for _, s in tap.steps) >= 2, "an episode")
                if training:
                    tap.wait_for(lambda: tap.updates > 0.0, "an update")
                tap.forget()
                tap.spin(seconds)
                yield {"bench": "jitter", "training": training, "priorities": priorities, **regularity(tap)}


def nodes(training: bool, priorities: bool) -> dict[str, dict]:
    """Node parameters of a graph that is measured."""
    order = {"executor": (-10, 5), "features": (5, 0), "learner": (10, 0)}
    given = {
        name: {"nice": nice if priorities else 0, "realtime": realtime if priorities else 0}
        for name, (nice, realtime) in order.items()
    }
    given["learner"] |= {"save_every": 0} | (TRAINING if training else RESTING)
    given["teleop"] = {"fail_after": 40, "warmup_episodes": 1}
    return given


def regularity(tap: Tap) -> dict[str, object]:
    """Set-points of the grid: each is due a period after the one before, but while the simulated arm is reset."""
    at_once = answers(tap)
    grid = np.array([t for t, _ in tap.commands if t not in at_once])
    resets = np.array([t for t, step in tap.steps if step.driver == step.RESET])
    between = np.searchsorted(resets, grid[1:]) - np.searchsorted(resets, grid[:-1] - PERIOD_MS * 1e6)
    late = np.abs(np.diff(grid) / 1e6 - 20.0)[between == 0]
    missed = int((late > 10.0).sum())
    return {"setpoints": len(late), "missed": missed, "updates_per_s": round(tap.updates, 1), **spread(late, "jitter")}


def answers(tap: Tap) -> dict[int, int]:
    """Sent time of the command that goes out with an executed step, at once and beside the grid -> observation."""
    sent, found = np.array([t for t, _ in tap.commands]), {}
    for t, step in tap.steps:
        index = int(np.searchsorted(sent, t)) - 1
        if index >= 0 and step.commanded:
            found[int(sent[index])] = int(step.observation_id)
    return found


# response and latency


class Person:
    """Somebody at the device: holds the stick, and presses."""

    def __init__(self, tap: Tap) -> None:
        self._tap = tap
        self._stick = tap.node.create_publisher(msg.HumanAction, "/rlt/human_action", qos.STEP)
        tap.node.create_subscription(msg.PolicyMode, "/rlt/policy_mode", self._answer, qos.STEP)
        self._mode = tap.node.create_client(srv.SetPolicyMode, "/rlt/set_policy_mode")
        self._label = tap.node.create_client(srv.LabelEpisode, "/rlt/label_episode")
        self._upwards = UPWARDS

    def _answer(self, word: msg.PolicyMode) -> None:
        action = floats([0.0, 0.0, self._upwards, 0.0, 0.0, 0.0, -1.0])
        self._stick.publish(msg.HumanAction(header=word.header, observation_id=0, action=action))

    def mode(self, mode: int) -> int:
        """Ask for a mode; returns when (ns)."""
        return self._press(self._mode, srv.SetPolicyMode.Request(mode=mode))

    def label(self, label: int) -> int:
        """Press a label; returns when (ns)."""
        return self._press(self._label, srv.LabelEpisode.Request(label=label))

    def turn(self) -> None:
        """The other direction, so that the arm stays where it may go."""
        self._upwards = -self._upwards

    def _press(self, client: Any, request: Any) -> int:
        self._tap.wait_for(client.service_is_ready, client.srv_name)
        for _ in range(PATIENCE):
            pressed = time.time_ns()
            future = client.call_async(request)
            self._tap.wait_for(future.done, f"an answer of {client.srv_name}")
            if future.result().success:
                return pressed
            self._tap.spin(0.1)  # the reset after a label is still under way
        raise RuntimeError(f"{client.srv_name}: {future.result().message}")


def presses(tap: Tap, times: int) -> Iterator[dict[str, object]]:
    """One line for each kind of press, and one for the latency meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        parameters = {"executor": {"nice": -10, "realtime": 5}, "collector": {"nice": 5}}
        by_hand = {"operator": "person", "episodes": 0, "out": f"{folder}/demos"}
        with Graph("collect.launch.py", Path(folder), parameters, **by_hand):
            tap.forget()
            tap.wait_for(lambda: len(tap.steps) > 20, "steps")
            person = Person(tap)
            taken = {"takeover": [], "stop": [], "label": []}
            for i in range(times):
                _round(tap, person, taken, i)
            for press, found in taken.items():
                ms, steps = np.array([m for m, _ in found]), [s for _, s in found]
                yield {"bench": "response", "press": press, "presses": len(found), **spread(ms, "step"),
                       "steps_max": max(steps)}  # fmt: skip
            yield {"bench": "latency", **latency(tap)}


def _round(tap: Tap, person: Person, taken: dict[str, list], number: int) -> None:
    human, hold = srv.SetPolicyMode.Request.HUMAN, srv.SetPolicyMode.Request.HOLD
    rest = 0.3 + 0.05 * (number % 7) / 7  # presses must not keep in step with observations
    pressed = person.mode(human)
    tap.spin(rest)
    taken["takeover"].append(first_change(tap, pressed, moving=True))
    if number % 2:
        pressed = person.mode(hold)
        tap.spin(rest)
        taken["stop"].append(first_change(tap, pressed, moving=False))
    else:
        person.label(srv.LabelEpisode.Request.BEGIN)
        tap.spin(rest)
        pressed = person.label(srv.LabelEpisode.Request.DISCARD)
        tap.spin(rest)
        taken["label"].append(first_change(tap, pressed, moving=False))
    person.turn()


def first_change(tap: Tap, pressed: int, moving: bool) -> tuple[float, int]:
    """Milliseconds from a press to the control step that answers it, sent just after its command: a person's, or one
    that is not any more. And the steps sent meanwhile as if nothing had been pressed."""
    later = [(t, step.driver == step.HUMAN) for t, step in tap.steps if t > pressed]
    answer = next((t for t, human in later if human == moving), None)
    if answer is None:
        raise RuntimeError(f"no step of {len(later)} answers a press")
    return (answer - pressed) / 1e6, sum(t < answer for t, _ in later)


def latency(tap: Tap) -> dict[str, object]:
    """Milliseconds from an observation's stamp, and from its being published, to its command."""
    sent = {number: t for t, number in answers(tap).items()}
    stamps = {int(step.observation_id): stamp_of(step.header) for _, step in tap.steps if step.driver == step.HUMAN}
    known = [n for n in stamps if n in sent and n in tap.observed and stamps[n] in tap.measured]
    from_stamp = np.array([sent[n] - tap.measured[stamps[n]] for n in known]) / 1e6
    published = np.array([sent[n] - tap.observed[n] for n in known]) / 1e6
    return {"observations": len(known), **spread(from_stamp, "stamp"), **spread(published, "observation")}


def spread(ms: np.ndarray, name: str) -> dict[str, float]:
    """p50, p99 and the largest."""
    p50, p99, most = np.quantile(ms, [0.5, 0.99, 1.0])
    return {f"{name}_p50_ms": round(p50, 2), f"{name}_p99_ms": round(p99, 2), f"{name}_max_ms": round(most, 2)}


def _numbers(m: PoseStamped) -> tuple[float, ...]:
    p, q = m.pose.position, m.pose.orientation
    return (p.x, p.y, p.z, q.x, q.y, q.z, q.w)


def main() -> None:
    """Print one JSON line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["jitter", "response"], help="one part; response has the latency too")
    parser.add_argument("--seconds", type=float, default=20.0, help="of jitter, each of four times")
    parser.add_argument("--presses", type=int, default=30, help="takeovers; half as many stops and labels")
    parser.add_argument("--checkpoint", default="", help="of Stage 1; empty: a small one, trained if it is not cached")
    chosen = parser.parse_args()
    checkpoint = chosen.checkpoint or small_checkpoint()
    tap = Tap()
    try:
        if chosen.only != "response":
            say(jitter(tap, checkpoint, chosen.seconds))
        if chosen.only != "jitter":
            say(presses(tap, chosen.presses))
    finally:
        tap.close()


def small_checkpoint() -> str:
    """The one of the launch tests."""
    command = [sys.executable, "-m", "rlt_ros.token.stage1_cli", "--preset", "smoke"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return made.stdout.strip().splitlines()[-1].removeprefix("stage1: checkpoint at ")


def say(lines: Iterator[dict[str, object]]) -> None:
    """One line each, as soon as it is known."""
    for line in lines:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
