"""The FR3 as a MuJoCo body tree: joint frames, limits and inertias of the real arm, shapes of capsules.

Numbers: franka_description (Apache-2.0), as in the FR3 model of MuJoCo Menagerie. Joint friction is left out: Franka's
controller compensates it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlt_ros.sim.engine import mujoco

Triple = tuple[float, float, float]
Quad = tuple[float, float, float, float]

WHITE = (0.93, 0.94, 0.95, 1.0)
GREY = (0.35, 0.37, 0.40, 1.0)


@dataclass(frozen=True)
class Link:
    """One moving link: pose in its parent (m, quaternion w x y z), joint range (rad), torque (Nm), armature (kg m2),
    mass (kg) with its frame, principal inertia (kg m2), and capsules as (from, to, radius) in m."""

    pos: Triple
    quat: Quad
    range: tuple[float, float]
    torque: float
    armature: float
    mass: float
    com: Triple
    inertia_quat: Quad
    inertia: Triple
    capsules: tuple[tuple[Triple, Triple, float], ...]


LINKS = (
    Link((0, 0, 0.333), (1, 0, 0, 0), (-2.9007, 2.9007), 87, 0.195, 2.92747,
         (4.128e-07, -0.0181251, -0.0386036), (0.998098, -0.0605364, 0.00380499, 0.0110109),
         (0.0239286, 0.0227246, 0.00610634), (((0, 0, -0.16), (0, 0, -0.03), 0.06),)),
    Link((0, 0, 0), (1, -1, 0, 0), (-1.8361, 1.8361), 87, 0.195, 2.93554,
         (0.00318289, -0.0743222, 0.00881461), (0.502599, 0.584437, -0.465998, 0.434366),
         (0.0629567, 0.0411924, 0.0246371),
         (((0, 0, -0.06), (0, 0, 0.06), 0.06), ((0, -0.03, 0), (0, -0.16, 0), 0.058))),
    Link((0, -0.316, 0), (1, 1, 0, 0), (-2.9007, 2.9007), 87, 0.195, 2.2449,
         (0.0407016, -0.00482006, -0.0289731), (0.921025, -0.244161, 0.155272, 0.260745),
         (0.0267409, 0.0189869, 0.0171587),
         (((0, 0, -0.12), (0, 0, -0.04), 0.058), ((0.02, 0, -0.03), (0.08, 0, 0), 0.05))),
    Link((0.0825, 0, 0), (1, 1, 0, 0), (-3.0770, -0.1169), 87, 0.195, 2.6156,
         (-0.0459101, 0.0630493, -0.00851879), (0.438018, 0.803311, 0.00937812, 0.403414),
         (0.05139, 0.0372717, 0.0160047),
         (((0, 0, -0.05), (0, 0, 0.05), 0.055), ((-0.06, 0.05, 0), (-0.0825, 0.14, 0), 0.05))),
    Link((-0.0825, 0.384, 0), (1, -1, 0, 0), (-2.8763, 2.8763), 12, 0.074, 2.32712,
         (-0.00160396, 0.0292536, -0.0972966), (0.919031, 0.125604, 0.0751531, -0.366003),
         (0.0579335, 0.0449144, 0.0130634),
         (((0, 0.02, -0.24), (0, 0.07, -0.06), 0.045), ((0, 0.02, 0), (0, 0.02, 0.01), 0.05))),
    Link((0, 0, 0), (1, 1, 0, 0), (0.4398, 4.6216), 12, 0.074, 1.81704,
         (0.0597131, -0.0410295, -0.0101693), (0.621301, 0.552665, 0.510011, 0.220081),
         (0.0175039, 0.0161123, 0.00193529),
         (((0, 0, -0.04), (0, 0, 0.04), 0.05), ((0.03, 0, 0), (0.085, 0, 0), 0.045))),
    Link((0.088, 0, 0), (1, 1, 0, 0), (-3.0508, 3.0508), 12, 0.074, 0.627143,
         (0.00452258, 0.00862619, -0.0161633), (0.727579, 0.0978688, -0.24906, 0.63168),
         (0.000223836, 0.000223642, 5.64132e-07), (((0, 0, 0.03), (0, 0, 0.07), 0.043),)),
)  # fmt: skip


def add_arm(world: mujoco.MjsBody, joint_names: tuple[str, ...], damping: float) -> mujoco.MjsBody:
    """Add base and seven links below a body; gravity is compensated. Returns the last link.

    joint_names: seven names. damping: Nms/rad of each joint.
    """
    base = world.add_body(name="base")
    _capsule(base, (-0.06, 0, 0.05), (0, 0, 0.06), 0.065, GREY)
    _capsule(base, (0, 0, 0.08), (0, 0, 0.14), 0.062, WHITE)
    parent = base
    for i, (link, name) in enumerate(zip(LINKS, joint_names), start=1):
        parent = _add_link(parent, link, f"link{i}", name, damping)
    return parent


def _add_link(parent: mujoco.MjsBody, link: Link, name: str, joint: str, damping: float) -> mujoco.MjsBody:
    body = parent.add_body(name=name, pos=link.pos, quat=link.quat, gravcomp=1.0)
    body.explicitinertial = True
    body.mass, body.ipos, body.iquat, body.inertia = link.mass, link.com, link.inertia_quat, link.inertia
    body.add_joint(
        name=joint, axis=(0, 0, 1), range=link.range, limited=True, damping=damping, armature=link.armature,
        actfrcrange=(-link.torque, link.torque), actfrclimited=True,
    )  # fmt: skip
    for i, (start, end, radius) in enumerate(link.capsules):
        _capsule(body, start, end, radius, WHITE if i == 0 else GREY)
    return body


def _capsule(body: mujoco.MjsBody, start: Triple, end: Triple, radius: float, colour: Quad) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=(*start, *end), size=(radius, 0, 0), rgba=colour,
        contype=0, conaffinity=0, mass=0,
    )  # fmt: skip
