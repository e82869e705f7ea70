"""A running graph as a test sees it: its output, its processes, its topics."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import rclpy
from machines import Machine
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile

from rlt_ros.nodes import qos
from rlt_ros.nodes.shared_memory import remove_half_made

_numbers = itertools.count()
DEPTH = 500
"""Messages that wait for a listener."""


def new_domain() -> int:
    """A ROS domain that no other test of this machine is likely to use; above 101 ports run out.

    Tests kill processes, and one killed at a bad moment would keep whoever comes later from starting.
    """
    remove_half_made()
    return 1 + (os.getpid() * 7 + next(_numbers)) % 100


def at_once() -> list[str]:
    """Words before a command that let it run in real time beside whatever else this machine does, where permitted."""
    words = ["chrt", "--rr", "1"]
    permitted = shutil.which(words[0]) and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if permitted else []


class Graph:
    """`ros2 launch rlt_ros <launch_file>` as a process of its own session in a domain of its own.

    words: before the command. machine: on which it runs; None for this one.
    """

    def __init__(
        self,
        log: Path,
        arguments: Mapping[str, object],
        launch_file: str = "stage2.launch.py",
        domain: int | None = None,
        words: Sequence[str] = (),
        machine: Machine | None = None,
    ) -> None:
        self.domain = new_domain() if domain is None else domain
        self.log = log
        self.run_dir = Path(str(arguments.get("run_dir", "")))
        given = [f"{name}:={value}" for name, value in arguments.items() if value is not None]
        command = [*words, "ros2", "launch", "rlt_ros", launch_file, *given]
        env = {**os.environ, "ROS_DOMAIN_ID": str(self.domain), "ROS_PYTHON_CHECK_FIELDS": "1"}
        env["ROS_LOG_DIR"] = str(log.parent / "ros_log")
        if machine is not None:
            command, env = machine.command(command), env | machine.env
        self._output = log.open("w")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
        )

    @property
    def text(self) -> str:
        """Everything printed so far."""
        return self.log.read_text()

    def wait_for(self, what: Callable[[], Any], timeout: float, why: str) -> Any:
        """Wait until a condition holds; fails with the output if launch ends or time runs out."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            value = what()
            if value:
                return value
            assert self.process.poll() is None, f"launch ended before {why}:\n{self.text[-4000:]}"
            time.sleep(0.05)
        raise AssertionError(f"{timeout} s without {why}:\n{self.text[-4000:]}")

    def wait_for_line(self, pattern: str, timeout: float = 60.0) -> re.Match[str]:
        """Wait for output that matches."""
        return self.wait_for(lambda: re.search(pattern, self.text), timeout, f"output {pattern!r}")

    def node(self, name: str) -> psutil.Process | None:
        """The process of a node, None while it does not run."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.Error):  # it may be about to end
                if f"__node:={name}" in process.cmdline():
                    return process
        return None

    def send(self, number: signal.Signals, whole_group: bool = False) -> None:
        """Signal launch alone, or everything in its process group as a Ctrl-C in a terminal does."""
        if whole_group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    def end(self, timeout: float = 60.0) -> int:
        """Wait for launch to end; returns its exit code."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"launch did not end within {timeout} s:\n{self.text[-4000:]}") from None

    def abandon(self) -> None:
        """Kill whatever is left, also what has a session of its own."""
        if self.process.poll() is None:
            left = psutil.Process(self.process.pid).children(recursive=True)
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            for process in left:
                with suppress(psutil.Error):
                    process.kill()
        self._output.close()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """What this process opens meanwhile sees these environment variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


def _deep(profile: QoSProfile) -> QoSProfile:
    """The same with a longer queue: a graph in lockstep sends hundreds of messages between two looks of a test."""
    return QoSProfile(depth=max(profile.depth, DEPTH), reliability=profile.reliability, durability=profile.durability)


class Listener:
    """Subscribes to topics in a domain, from the test's own process.

    One that must not miss what comes first is opened before the graph: each of the graph's nodes then finds it while it
    starts. One that joins a running graph misses what was published until every publisher had found it.
    machine: on which it listens; None for this one.
    """

    def __init__(
        self, topics: Mapping[str, tuple[type, Any]], domain: int | None = None, machine: Machine | None = None
    ) -> None:
        self.domain = domain = new_domain() if domain is None else domain
        with machine.inside() if machine else nullcontext(), _environment(machine.env if machine else {}):
            self._open(topics, domain)

    def _open(self, topics: Mapping[str, tuple[type, Any]], domain: int) -> None:
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = rclpy.create_node("listener", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.received: dict[str, list[Any]] = {topic: [] for topic in topics}
        for topic, (kind, profile) in topics.items():
            deep = _deep(profile) if profile else qos.TRANSITIONS
            self.node.create_subscription(kind, topic, self.received[topic].append, deep)

    def spin(self, seconds: float = 0.05) -> bool:
        """Receive for a moment; always True, so that it can stand in a condition."""
        self._executor.spin_once(timeout_sec=seconds)
        for _ in range(500):  # a fast graph sends more than one message in the time of one look
            self._executor.spin_once(timeout_sec=0.0)
        return True

    def newest(self, topic: str) -> Any:
        """The newest message of a topic, None before the first."""
        return self.received[topic][-1] if self.received[topic] else None

    def close(self) -> None:
        """Leave the graph."""
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
