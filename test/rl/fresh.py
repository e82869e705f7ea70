"""Measurements of memory in a process of their own: in this one, what earlier tests freed would hide or add pages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def in_fresh_process(file: str, function: str) -> float:
    """What a function of a test file returns there."""
    code = f"import runpy; print(runpy.run_path({file!r})[{function!r}]())"
    path = os.pathsep.join(filter(None, (str(Path(file).parent), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[-1])


def resident_bytes() -> int:
    """Of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
