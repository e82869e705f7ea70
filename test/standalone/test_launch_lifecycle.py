"""Managed nodes: transitions asked for by events, and reactions to them, over real rclpy."""

import subprocess
import sys
from pathlib import Path

import pytest
from launch_support import LAUNCH_FILES, STANDIN, demo_prefix, environment

pytest.importorskip("rclpy")


def test_configure_then_activate_then_end(tmp_path: Path) -> None:
    env = environment(demo_prefix(tmp_path / "prefix"))
    result = subprocess.run(
        [sys.executable, STANDIN / "bin/ros2", "launch", LAUNCH_FILES / "included/managed.launch.py"],
        env={**env, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": "87"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.index("configured") < result.stdout.index("activated")
    assert "process has finished cleanly" in result.stdout
