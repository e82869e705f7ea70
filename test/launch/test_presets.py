"""A session with another controller than the default, and with other names: what a preset and a namespace change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped
from graph import Graph, Listener
from trajectory_msgs.msg import JointTrajectory

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.types import Driver

Start = Callable[..., Graph]
POLICIES = (Driver.VLA, Driver.ACTOR)


@pytest.fixture()
def listen() -> Iterator[Callable[..., Listener]]:
    """Opens a listener to commands, steps and measured poses; before the graph."""
    opened: list[Listener] = []

    def start(kind: type, command: str, package: str, robot: str) -> Listener:
        topics = {
            f"{robot}/{command}": (kind, qos.COMMAND),
            f"{package}/executed_step": (msg.ExecutedStep, None),
            f"{robot}/franka_robot_state_broadcaster/current_pose": (PoseStamped, qos.SENSOR),
        }
        opened.append(Listener(topics))
        return opened[-1]

    yield start
    for listener in opened:
        listener.close()


def session(graph: Graph, listener: Listener, run_dir: Path) -> tuple[list[Any], list[Any], np.ndarray]:
    """Commands, executed steps and measured positions (n, 3) [m] of a session that ends by itself."""
    graph.wait_for(lambda: listener.spin() and (run_dir / "summary.json").exists(), 240, "the summary")
    assert graph.end() == 0
    assert "Traceback" not in graph.text and "process has died" not in graph.text
    summary = json.loads((run_dir / "summary.json").read_text())
    assert summary["transitions"]["published"] == summary["transitions"]["received"] > 20
    commands, steps, poses = listener.received.values()
    positions = np.array([[p.pose.position.x, p.pose.position.y, p.pose.position.z] for p in poses])
    assert np.ptp(positions, axis=0).max() > 0.02, "the arm moved, by its own measurement"
    drivers = Counter(Driver(step.driver) for step in steps)
    assert sum(drivers[driver] for driver in POLICIES) > 5 * drivers[Driver.HOLD], drivers
    return commands, steps, positions


def seconds(point: Any) -> float:
    return point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec


def test_joint_trajectories_under_other_names(stage2: Start, listen: Callable[..., Listener], tmp_path: Path) -> None:
    listener = listen(JointTrajectory, "fr3_arm_controller/joint_trajectory", "/lab/rlt", "/fr3")
    names = {"namespace": "lab/rlt", "robot_namespace": "fr3"}
    graph = stage2(
        domain=listener.domain, robot_config="fr3_joint_trajectory", practice_minutes=0.3, eval_episodes=1, **names
    )
    commands, _, _ = session(graph, listener, tmp_path / "run")
    assert len(commands) > 50
    for trajectory in commands:
        assert list(trajectory.joint_names) == [f"fr3_joint{i}" for i in range(1, 8)]
        assert 0.0 < seconds(trajectory.points[-1]) <= 0.2 and not any(trajectory.points[-1].velocities)
        assert all(len(p.positions) == len(p.velocities) == 7 for p in trajectory.points)


def test_twists_for_servo(stage2: Start, listen: Callable[..., Listener], tmp_path: Path) -> None:
    listener = listen(TwistStamped, "servo_node/delta_twist_cmds", "/rlt", "")
    graph = stage2(domain=listener.domain, robot_config="fr3_servo", practice_minutes=0.3, eval_episodes=1)
    commands, _, _ = session(graph, listener, tmp_path / "run")
    linear = np.array([[c.twist.linear.x, c.twist.linear.y, c.twist.linear.z] for c in commands])
    assert len(linear) > 50 and np.isfinite(linear).all()
    assert {c.header.frame_id for c in commands} == {"fr3_link0"}
    assert 0.005 < np.linalg.norm(linear, axis=1).max() <= 0.25 + 1e-9, "m/s, limits.speed"
