"""The Franka hand on the flange: fingers, peg, tool centre point and wrist camera."""

from __future__ import annotations

import math

import numpy as np

from rlt_ros.robot.description import FINGER_ROOT, FLANGE, HAND_TCP, HAND_TURN
from rlt_ros.sim.arm import GREY, WHITE
from rlt_ros.sim.config import PegConfig
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.shapes.choice import shape_of

FINGERS = ("left_finger", "right_finger")
PEG_COLOUR = (0.10, 0.35, 0.85, 1.0)
BOX = mujoco.mjtGeom.mjGEOM_BOX


def add_hand(spec: mujoco.MjSpec, link7: mujoco.MjsBody, peg: PegConfig, fovy: float) -> None:
    """Add hand with site `tool`, body `peg` with site `tip`, and camera `wrist` (fovy in degrees) to the last link."""
    turn = (math.cos(HAND_TURN / 2), 0.0, 0.0, math.sin(HAND_TURN / 2))
    hand = link7.add_body(name="hand", pos=(0, 0, FLANGE), quat=turn, gravcomp=1.0)
    hand.explicitinertial = True
    hand.mass, hand.ipos, hand.inertia = 0.73, (-0.01, 0.0, 0.03), (0.001, 0.0025, 0.0017)
    hand.add_geom(type=BOX, pos=(0, 0, 0.03), size=(0.02, 0.1, 0.03), rgba=WHITE, **_VISUAL)
    hand.add_site(name="tool", pos=(0, 0, HAND_TCP))
    for name, side in zip(FINGERS, (1, -1)):
        _add_finger(hand, name, side)
    _add_peg(spec, hand, peg)
    _add_wrist_camera(hand, peg, fovy)


_VISUAL = {"contype": 0, "conaffinity": 0, "mass": 0}


def _add_finger(hand: mujoco.MjsBody, name: str, side: int) -> None:
    finger = hand.add_body(name=name, pos=(0, 0, FINGER_ROOT), gravcomp=1.0)
    finger.explicitinertial = True
    finger.mass, finger.inertia = 0.015, (2.4e-6, 2.4e-6, 7.5e-7)
    finger.add_geom(type=BOX, pos=(0, side * 0.015, 0.015), size=(0.01, 0.008, 0.015), rgba=GREY, **_VISUAL)
    finger.add_geom(type=BOX, pos=(0, side * 0.006, 0.040), size=(0.008, 0.006, 0.014), rgba=GREY, **_VISUAL)


def _add_peg(spec: mujoco.MjSpec, hand: mujoco.MjsBody, peg: PegConfig) -> None:
    spec.add_mesh(name="peg", uservert=_peg_vertices(peg).ravel())
    body = hand.add_body(name="peg", pos=(0, 0, HAND_TCP), gravcomp=1.0)
    body.add_geom(
        name="peg", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="peg", mass=0.1, rgba=PEG_COLOUR,
        contype=1, conaffinity=1, condim=3,
    )  # fmt: skip
    body.add_site(name="tip", pos=(0, 0, peg.tip_offset))


def _peg_vertices(peg: PegConfig) -> np.ndarray:
    """Corners float64 (n, 3) of the chamfered peg, tool axes, origin at the tool centre point."""
    shape = shape_of(peg)
    rings = (
        (0.0, peg.tip_offset - peg.length),
        (0.0, peg.tip_offset - peg.chamfer),
        (peg.chamfer, peg.tip_offset),
    )
    outlines = [(shape.outline(inset), z) for inset, z in rings]
    return np.concatenate([np.column_stack([corners, np.full(len(corners), z)]) for corners, z in outlines])


def _add_wrist_camera(hand: mujoco.MjsBody, peg: PegConfig, fovy: float) -> None:
    position = np.array([0.085, 0.0, 0.065])
    look_at = np.array([0.0, 0.0, HAND_TCP + peg.tip_offset + 0.008])
    hand.add_camera(name="wrist", pos=position, quat=looking(position, look_at, up=np.array([0, 0, -1.0])), fovy=fovy)


def looking(position: np.ndarray, target: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Quaternion (4,) w x y z of a MuJoCo camera (view along -z, y up in the picture) that looks at a target."""
    back = (position - target) / np.linalg.norm(position - target)
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, np.column_stack([right, np.cross(back, right), back]).ravel())
    return quat
