"""Rendering without a display; read when MuJoCo is first imported."""

import os

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("LP_NUM_THREADS", "0")
