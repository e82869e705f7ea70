"""A bag beside a driving executor: real processes over real DDS. Field report B36."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from geometry_msgs.msg import PoseStamped

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
