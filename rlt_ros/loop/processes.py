"""Who worked on a run: a file for each process in the run directory, with a line for its start and one for its end."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import rlt_ros

FOLDER = "processes"
PACKAGES = ("numpy", "scipy", "torch", "mujoco", "pin", "safetensors", "opencv-python-headless", "lerobot")


class Life:
    """One process. settings: its parameters, JSON-ready. Nothing here raises: a run goes on without it.

    A process that was killed leaves no second line, which is how a reader knows.
    """

    def __init__(self, run_dir: Path, name: str, settings: Mapping[str, Any]) -> None:
        self._path = run_dir / FOLDER / f"{name}.jsonl"
        self._write({"began": time.time(), "pid": os.getpid(), **machine(), "settings": dict(settings)})

    def ended(self, how: str) -> None:
        """It ends now; how: in a few words."""
        self._write({"ended": time.time(), "pid": os.getpid(), "how": how})

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            print(f"{self._path}: {error}", file=sys.stderr)


def machine() -> dict[str, Any]:
    """Versions of what decides a run, and the machine."""
    return {"versions": versions(), "host": platform.node(), "machine": hardware()}


def versions() -> dict[str, str]:
    """Package -> version; rlt_ros with the commit of its checkout, if it is one."""
    found = {"rlt_ros": f"{rlt_ros.__version__}{_commit()}", "python": platform.python_version()}
    if "ROS_DISTRO" in os.environ:
        found["ROS"] = os.environ["ROS_DISTRO"]
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Processor, cores that may be used, memory, GPUs that torch has taken up, system."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    found = {"processor": _processor(), "cores": len(os.sched_getaffinity(0)), "memory_gib": round(pages / 2**30, 1)}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        found["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return found | {"system": f"{platform.system()} {platform.release()}"}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    command = ["git", "-C", str(Path(rlt_ros.__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f" ({done.stdout.strip()})" if done.returncode == 0 else ""
