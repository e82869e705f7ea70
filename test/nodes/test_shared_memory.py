"""A node comes up although a killed one left its ports half made."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from graph import new_domain

from rlt_ros.nodes.shared_memory import FOLDER, remove_half_made

NODE = """
from rlt_ros.nodes.runtime import BaseNode, run

class Node(BaseNode):
    def begin(self):
        self.finish(0)

run(lambda: Node("comes_up"))
"""


def left(path: Path, text: str = "", age: float = 60.0) -> Path:
    path.write_text(text)
    made = path.stat().st_mtime - age
    os.utime(path, (made, made))
    return path


def test_only_empty_port_files_that_are_old_are_removed(tmp_path: Path) -> None:
    half = [left(tmp_path / "fastdds_port7410"), left(tmp_path / "fastrtps_port7411")]
    left(tmp_path / "fastdds_port7412", "whole")
    left(tmp_path / "fastdds_port7413", age=0.0)
    left(tmp_path / "fastdds_port7414_el")
    left(tmp_path / "fastdds_00b21eae0a9d66fc_el")
    left(tmp_path / "somebody_else")
    assert remove_half_made(tmp_path) == half
    assert len(list(tmp_path.iterdir())) == 5
    assert remove_half_made(tmp_path) == remove_half_made(tmp_path / "nowhere") == []


@pytest.fixture()
def poisoned() -> Iterator[int]:
    """A domain whose first ports are half made."""
    domain = new_domain()
    first = 7400 + 250 * domain
    files = [left(FOLDER / f"fastdds_port{first + port}") for port in range(10, 18)]
    yield domain
    for file in files:
        file.unlink(missing_ok=True)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no /dev/shm")
def test_a_node_comes_up_on_ports_that_a_killed_one_left_half_made(poisoned: int) -> None:
    env = {**os.environ, "ROS_DOMAIN_ID": str(poisoned), "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"}
    done = subprocess.run([sys.executable, "-c", NODE], env=env, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fastdds_port" in done.stderr + done.stdout, "what was removed is said"
