"""Run `official.py` with a Python that can import `lerobot`, where RLT_LEROBOT_PYTHON names one."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

PYTHON = os.environ.get("RLT_LEROBOT_PYTHON", "")
needs_lerobot = pytest.mark.skipif(not PYTHON, reason="RLT_LEROBOT_PYTHON names no Python with lerobot")


def official(*arguments):
    script = Path(__file__).with_name("official.py")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    run = subprocess.run([PYTHON, script, *arguments], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]


def dumped(root, out):
    """Every frame of a dataset as the official loader gives it: key to array."""
    official("dump", root, out)
    with np.load(out) as arrays:
        return dict(arrays)
