"""Stage 2 as a person starts it: real processes over real DDS."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from geometry_msgs.msg import PoseStamped, WrenchStamped
from graph import Graph, Listener
from sensor_msgs.msg import CameraInfo, Image, JointState

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.rl.codec import encode
from rlt_ros.rl.journal import Journal
from rlt_ros.types import Label

Start = Callable[..., Graph]

TOPICS = {
    "/rlt/observation": (msg.Observation, None),
    "/rlt/features": (msg.Features, None),
    "/rlt/action_chunk": (msg.ActionChunk, None),
    "/rlt/executed_step": (msg.ExecutedStep, None),
    "/rlt/policy_mode": (msg.PolicyMode, None),
    "/rlt/episode_event": (msg.EpisodeEvent, None),
    "/rlt/transition": (msg.Transition, qos.TRANSITIONS),
    "/rlt/transition_ack": (msg.TransitionAck, None),
    "/rlt/policy_weights": (msg.PolicyWeights, qos.LATCHED),
    "/rlt/learner_stats": (msg.LearnerStats, None),
    "/rlt/actor_stats": (msg.ActorStats, None),
    "/target_pose": (PoseStamped, qos.COMMAND),
    "/franka_robot_state_broadcaster/current_pose": (PoseStamped, qos.SENSOR),
    "/franka_robot_state_broadcaster/measured_joint_states": (JointState, qos.SENSOR),
    "/franka_robot_state_broadcaster/external_wrench_in_base_frame": (WrenchStamped, qos.SENSOR),
    "/franka_gripper/joint_states": (JointState, qos.SENSOR),
    "/front/color/image_raw": (Image, qos.SENSOR),
    "/wrist/color/image_raw": (Image, qos.SENSOR),
    "/wrist/color/camera_info": (CameraInfo, qos.SENSOR),
}
TRACEBACK = "Traceback (most recent call last)"


def test_a_short_session_learns_reports_and_ends_by_itself(
    stage2: Start, listener: Listener, checkpoint: Path, quick: Path, tmp_path: Path
) -> None:
    graph = stage2(domain=listener.domain, practice_minutes=0.35, eval_episodes=2)
    graph.wait_for(lambda: listener.spin() and all(listener.received.values()), 240, "a message on every topic")
    graph.wait_for(lambda: listener.spin() and (graph.run_dir / "summary.json").exists(), 240, "the summary")
    assert graph.end() == 0
    assert TRACEBACK not in graph.text
    check_summary(graph.run_dir)
    check_messages(listener)
    check_that_one_process_gives_the_same(graph.run_dir, checkpoint, quick, tmp_path / "fast")
    for left in ("checkpoints/*/state.json", "transitions/000001.rlt", "policy.safetensors", "tensorboard/events.*"):
        assert list(graph.run_dir.glob(left)), left


def check_summary(run_dir: Path) -> None:
    summary = json.loads((run_dir / "summary.json").read_text())
    assert summary["seed"] == 1
    for name in ("base", "base_with_noise", "final", "final_with_noise"):
        score = summary[name]
        assert score["episodes"] == 2 and 0 <= score["successes"] <= 2 and 0 < score["mean_steps"] <= 30
    assert summary["transitions"]["published"] == summary["transitions"]["received"] > 40
    assert summary["updates"]["critic"] > 50 and summary["updates"]["actor"] > 100
    assert summary["weights"]["published"] >= summary["weights"]["applied"] >= 1
    assert summary["gate_open"] is True
    assert summary["robot_time_s"] >= 0.35 * 60 and summary["wall_time_s"] > 0


def check_that_one_process_gives_the_same(run_dir: Path, checkpoint: Path, quick: Path, fast: Path) -> None:
    """Lockstep: same seed, same rows and same weights, bit for bit, whatever the order of messages and the load."""
    options = ["--exact", "--minutes", "0.35", "--eval-episodes", "2", "--seed", "1"]
    places = ["--checkpoint", str(checkpoint), "--params-file", str(quick), "--run-dir", str(fast)]
    done = subprocess.run([sys.executable, "-m", "rlt_ros", "fast", *options, *places], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    graph, alone = (list(Journal(folder / "transitions")) for folder in (run_dir, fast))
    for one, other in zip(graph, alone, strict=True):
        assert encode(replace(one, stream="")) == encode(replace(other, stream="")), f"{one}\n{other}"
    assert (run_dir / "policy.safetensors").read_bytes() == (fast / "policy.safetensors").read_bytes()
    first, second = (json.loads((folder / "summary.json").read_text()) for folder in (run_dir, fast))
    measured_otherwise = {"robot_time_s", "wall_time_s"}
    assert {name: second[name] for name in first.keys() - measured_otherwise} == {
        name: first[name] for name in first.keys() - measured_otherwise
    }


def check_messages(listener: Listener) -> None:
    received = listener.received
    steps: dict[int, msg.ExecutedStep] = {}
    for step in received["/rlt/executed_step"]:
        # On a machine under load the simulator asks again after 0.5 s and gets the answer that it had.
        assert steps.setdefault(step.observation_id, step) == step, "one executed step per observation"
    assert list(steps) == sorted(steps), "in order"
    assert {step.driver for step in received["/rlt/executed_step"]} >= {
        msg.ExecutedStep.VLA,
        msg.ExecutedStep.ACTOR,
        msg.ExecutedStep.RESET,
    }
    rows = {(row.stream, row.id): row for row in received["/rlt/transition"]}
    assert sorted(number for _, number in rows) == list(range(1, len(rows) + 1)), "rows without gaps, one stream"
    assert all(row.terminated == (row.steps_to_end == row.valid_horizon) for row in rows.values())
    for target in received["/target_pose"]:
        assert target.header.frame_id == "fr3_link0"
    versions = [weights.version for weights in received["/rlt/policy_weights"]]
    assert versions == sorted(set(versions))


@pytest.mark.parametrize("how", ["SIGINT", "SIGINT twice", "SIGTERM"])
def test_an_interrupted_run_ends_cleanly(stage2: Start, how: str) -> None:
    graph = stage2(practice_minutes=30)
    graph.wait_for_line(r"\[teleop-\d+\] practice .* episode [1-9]", 180)
    number = signal.SIGTERM if how == "SIGTERM" else signal.SIGINT
    graph.send(number, whole_group=how == "SIGINT twice")
    if how == "SIGINT twice":
        graph.send(number, whole_group=True)
    assert graph.end() == 0
    assert TRACEBACK not in graph.text
    assert "process has died" not in graph.text, graph.text[-3000:]
    assert (graph.run_dir / "checkpoints/000001/state.json").exists()
    assert "interrupted: practice " in graph.text
    summary = json.loads((graph.run_dir / "summary.json").read_text())
    assert summary["interrupted"] is True and summary["practice"]["episodes"] >= 1
    assert summary["final"] == {"episodes": 0, "successes": 0, "invalid": 0, "mean_steps": None}
    assert not list(graph.run_dir.rglob("*.partial")) and not list(graph.run_dir.rglob("*.tmp"))


def test_a_learner_that_is_killed_loses_no_row(stage2: Start, listener: Listener) -> None:
    graph = stage2(domain=listener.domain, practice_minutes=0.6, eval_episodes=1)
    acked = "/rlt/transition_ack"
    graph.wait_for(lambda: listener.spin() and (a := listener.newest(acked)) and a.ack_id > 20, 240, "rows")
    learner = graph.node("learner")
    learner.kill()
    respawned = lambda: (p := graph.node("learner")) and p.pid != learner.pid  # noqa: E731
    graph.wait_for(lambda: listener.spin() and respawned(), 30, "a new learner")
    graph.wait_for(lambda: listener.spin() and (graph.run_dir / "summary.json").exists(), 240, "the summary")
    assert graph.end() == 0
    summary = json.loads((graph.run_dir / "summary.json").read_text())
    assert summary["transitions"]["published"] == summary["transitions"]["received"] > 20
    kept = [row.id for row in Journal(graph.run_dir / "transitions")]
    assert kept == list(range(1, summary["transitions"]["published"] + 1)), "every row once, in order"


def test_a_run_whose_training_fails_ends_and_says_why(stage2: Start, quick: Path) -> None:
    parameters = yaml.safe_load(quick.read_text())
    parameters["/**/learner"]["ros__parameters"]["learning_rate"] = 1.0e30
    quick.write_text(yaml.safe_dump(parameters))
    graph = stage2(practice_minutes=30)
    assert graph.end(240) == 1
    assert "training failed: Diverged: " in graph.text and "training has failed" in graph.text
    assert json.loads((graph.run_dir / "summary.json").read_text())["interrupted"] is True
    assert not (graph.run_dir / "checkpoints").exists()
    assert list(Journal(graph.run_dir / "transitions")), "the rows are there all the same"


def test_an_existing_run_directory_is_refused_at_start(stage2: Start, tmp_path: Path) -> None:
    used = tmp_path / "used"
    used.mkdir()
    (used / "summary.json").write_text("{}")
    graph = stage2(run_dir=used)
    assert graph.end(60) == 1
    assert str(used) in graph.text and "resume:=true" in graph.text
    assert "process started" not in graph.text


def test_the_real_robot_needs_a_checkpoint(stage2: Start) -> None:
    graph = stage2(robot="franka", checkpoint=None)
    assert graph.end(60) == 1
    assert "checkpoint:=DIR" in graph.text and "ros2 run rlt_ros stage1" in graph.text


def test_a_checkpoint_of_another_task_ends_the_run_and_names_both(stage2: Start) -> None:
    graph = stage2(task="yaw_mark")
    assert graph.end(120) == 1
    assert re.search("(features|actor) failed with exit code 1", graph.text)
    assert "cannot configure: task of the checkpoint and of the run: 'peg' here, 'yaw_mark' there" in graph.text
    assert TRACEBACK not in graph.text


def test_a_plug_is_turned_and_inserted_by_the_person_who_helps(
    stage2: Start, connector_checkpoint: Path, quick: Path
) -> None:
    parameters = yaml.safe_load(quick.read_text())
    helps = {"intervention": 1.0, "patience": 1, "correction": 100, "fail_after": 100}
    parameters["/**/teleop"]["ros__parameters"] |= helps
    quick.write_text(yaml.safe_dump(parameters))
    graph = stage2(task="connector", checkpoint=connector_checkpoint, practice_minutes=0.15, eval_episodes=1)
    graph.wait_for(lambda: (graph.run_dir / "summary.json").exists(), 240, "the summary")
    assert graph.end() == 0
    assert TRACEBACK not in graph.text
    ends = [row for row in Journal(graph.run_dir / "transitions") if row.terminated]
    assert ends and all(row.label is Label.SUCCESS for row in ends)


def test_a_scripted_person_who_helps_is_learned_from_step_by_step(stage2: Start, quick: Path) -> None:
    teleop = "/**/teleop"
    parameters = yaml.safe_load(quick.read_text())
    parameters[teleop]["ros__parameters"] |= {"intervention": 1.0, "patience": 4, "correction": 9}
    quick.write_text(yaml.safe_dump(parameters))
    graph = stage2(practice_minutes=0.15, eval_episodes=1)
    graph.wait_for(lambda: (graph.run_dir / "summary.json").exists(), 240, "the summary")
    assert graph.end() == 0
    assert TRACEBACK not in graph.text and "was refused" not in graph.text
    human = msg.ExecutedStep.HUMAN
    drivers = [row.drivers[: row.valid_horizon].tolist() for row in Journal(graph.run_dir / "transitions")]
    assert any(human in row and set(row) != {human} for row in drivers), "hand-over inside a window, step by step"
    assert any(row.count(human) >= 5 for row in drivers)
