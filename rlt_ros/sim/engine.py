"""MuJoCo, imported once and in the right way: `from rlt_ros.sim.engine import mujoco`."""

from __future__ import annotations

import os

# MuJoCo picks its renderer on import; without this it takes glfw and fails on a machine without a screen.
os.environ.setdefault("MUJOCO_GL", "egl")
# llvmpipe's worker threads cost more than they bring at these picture sizes.
os.environ.setdefault("LP_NUM_THREADS", "0")

try:
    import mujoco
except ImportError as error:
    raise ImportError("mujoco is missing: pip install 'rlt_ros[sim]'") from error

__all__ = ["mujoco"]
