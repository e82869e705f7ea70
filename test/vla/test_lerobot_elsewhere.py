"""The tests of LeRobot's policies with a Python that has the package, where this one has not."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

PYTHON = os.environ.get("RLT_LEROBOT_PYTHON", "")
ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(find_spec("lerobot") is not None, reason="this Python has lerobot: the tests run here")
@pytest.mark.skipif(not PYTHON, reason="RLT_LEROBOT_PYTHON names no Python with lerobot[pi,smolvla,peft] and pytest")
def test_lerobots_policies_with_another_python():
    # Without what belongs to this one: the other finds its own packages.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "AMENT_", "VIRTUAL_ENV"))}
    environment |= {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    files = ["test/vla/test_lerobot_vla.py", "test/vla/test_lerobot_stage1.py"]
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
