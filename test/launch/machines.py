"""Two machines on one: network namespaces joined by a cable that can be slow, and pulled."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def why_not() -> str:
    """Why there can be no two machines here, empty if there can."""
    missing = [tool for tool in ("ip", "tc", "unshare") if shutil.which(tool) is None]
    if missing:
        return f"{' and '.join(missing)} not installed"
    name = f"rlt{os.getpid()}x"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except OSError as error:
        return f"no network namespaces: {error}"
    return ""


@dataclass(frozen=True)
class Machine:
    """A network namespace with a host name and an address of its own."""

    namespace: str
    host: str
    interface: str
    address: str

    @property
    def env(self) -> dict[str, str]:
        """Environment for its processes, as docs/franka/machines.md has it for a slow link."""
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4?max_msg_size=1400B"}

    def command(self, words: list[str]) -> list[str]:
        """The command that runs on this machine."""
        named = 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"'
        return ["ip", "netns", "exec", self.namespace, "unshare", "--uts", "sh", "-c", named, self.host, *words]

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Sockets that this thread opens meanwhile are on this machine."""
        home = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.namespace}", os.O_RDONLY)
        try:
            _enter(there)
            yield
        finally:
            _enter(home)
            os.close(home)
            os.close(there)

    def ready(self) -> bool:
        """Whether the cable shows on this side: DDS uses the interfaces that it finds running when a node starts."""
        words = self.command(["cat", f"/sys/class/net/{self.interface}/operstate"])
        # The namespace's own /sys is mounted by `ip netns exec`.
        return subprocess.run(words, capture_output=True, text=True).stdout.strip() == "up"

    def counters(self) -> dict[str, int]:
        """Bytes received and transmitted on the cable since it was laid."""
        text = subprocess.run(self.command(["cat", "/proc/net/dev"]), capture_output=True, text=True).stdout
        (line,) = [line for line in text.splitlines() if line.strip().startswith(f"{self.interface}:")]
        values = [int(word) for word in line.split(":")[1].split()]
        return {"received": values[0], "transmitted": values[8]}


def _enter(file: int) -> None:
    if _libc.setns(file, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@dataclass(frozen=True)
class Cable:
    """Joins two machines."""

    robot: Machine
    gpu: Machine

    def pull(self) -> None:
        """Nothing gets through any more."""
        _ip("-n", self.robot.namespace, "link", "set", self.robot.interface, "down")

    def plug(self) -> None:
        """It does again."""
        _ip("-n", self.robot.namespace, "link", "set", self.robot.interface, "up")

    def cut(self, seconds: float) -> None:
        """Pull it for so long."""
        self.pull()
        time.sleep(seconds)
        self.plug()

    def limit(self, mbit: float) -> None:
        """Let so many Mbit/s through in either direction; a queue holds what comes in 50 ms."""
        for machine in (self.robot, self.gpu):
            rate = ["rate", f"{mbit}mbit", "burst", "32kb", "latency", "50ms"]
            words = ["tc", "qdisc", "replace", "dev", machine.interface, "root", "tbf", *rate]
            subprocess.run(machine.command(words), check=True)


def _wait_for(what: Callable[[], bool], timeout: float = 10.0) -> None:
    end = time.monotonic() + timeout
    while not what():
        if time.monotonic() > end:
            raise OSError(f"the cable does not show on both sides after {timeout:g} s")
        time.sleep(0.02)


@contextmanager
def two_machines() -> Iterator[Cable]:
    """A robot's machine and one with a GPU, joined; gone afterwards."""
    number = f"rlt{os.getpid()}"
    robot = Machine(f"{number}r", "robot-pc", f"{number}r", "10.77.0.1")
    gpu = Machine(f"{number}g", "gpu-pc", f"{number}g", "10.77.0.2")
    try:
        for machine in (robot, gpu):
            _ip("netns", "add", machine.namespace)
        ends = (robot.interface, "netns", robot.namespace, "type", "veth", "peer", "name", gpu.interface)
        _ip("link", "add", *ends, "netns", gpu.namespace)
        for machine in (robot, gpu):
            _ip("-n", machine.namespace, "addr", "add", f"{machine.address}/24", "dev", machine.interface)
            for interface in ("lo", machine.interface):
                _ip("-n", machine.namespace, "link", "set", interface, "up")
        _wait_for(lambda: robot.ready() and gpu.ready())
        yield Cable(robot, gpu)
    finally:
        for machine in (robot, gpu):
            if Path(f"/run/netns/{machine.namespace}").exists():
                _ip("netns", "del", machine.namespace)
