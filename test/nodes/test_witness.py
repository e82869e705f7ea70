"""A killed node is known at once, by nothing but its absence. Real processes over real DDS."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from graph import Listener
from std_msgs.msg import String

from rlt_ros.nodes import qos
from rlt_ros.nodes.witness import Witness


class Bench(Listener):
    """A node of this process with a witness, and others that come and go."""

    def __init__(self) -> None:
        super().__init__({})
        self.witness = Witness(self.node, "worker", String, "work", qos.STEP)
        self.processes: list[subprocess.Popen] = []

    def start(self) -> subprocess.Popen:
        script = Path(__file__).with_name("vouched.py")
        env = {**os.environ, "ROS_DOMAIN_ID": str(self.domain)}
        self.processes.append(subprocess.Popen([sys.executable, script], env=env))
        return self.processes[-1]

    def wait(self, what: Callable[[], bool], timeout: float = 30.0) -> bool:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.spin(0.02)
            if what():
                return True
        return False

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        super().close()


@pytest.fixture()
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_who_was_killed_is_missed_and_who_comes_back_is_welcome(bench: Bench) -> None:
    assert bench.witness.gone == "", "nobody is missed before he was seen"
    worker = bench.start()
    assert bench.wait(lambda: bench.witness.alive)
    worker.kill()
    assert bench.wait(lambda: bench.witness.gone == "worker: no sign of life", timeout=5.0), "DDS itself takes 20 s"
    bench.start()
    assert bench.wait(lambda: bench.witness.alive) and bench.witness.gone == ""


def test_a_publisher_without_a_lease_is_nobody_to_be_missed(bench: Bench) -> None:
    publisher = bench.node.create_publisher(String, "work", qos.STEP)
    assert bench.wait(lambda: publisher.get_subscription_count() == 0, timeout=1.0)
    bench.node.destroy_publisher(publisher)
    assert not bench.wait(lambda: bool(bench.witness.gone), timeout=1.0)
