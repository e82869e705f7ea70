"""The whole scene as one MuJoCo model, built in Python; no files."""

from __future__ import annotations

import numpy as np

from rlt_ros.robot.config import RobotConfig
from rlt_ros.sim.arm import add_arm
from rlt_ros.sim.board import add_board, add_mark
from rlt_ros.sim.config import ControlConfig, SimConfig
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.hand import add_hand, looking

CAMERAS = ("front", "wrist")
"""Cameras that the scene has for policies; `overview` is for people."""


def build(config: SimConfig, robot: RobotConfig) -> mujoco.MjModel:
    """The compiled model.

    Sites: `tool` (tool centre point), `tip` (of the peg), `target` (on the mocap body that the Cartesian impedance, if
    the robot config's back-end has one, pulls to).
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    _set_options(spec, config)
    _add_surroundings(spec)
    add_board(spec.worldbody, config)
    if config.board.marked:
        add_mark(spec.worldbody, config)
    _add_cameras(spec.worldbody, config)
    link7 = add_arm(spec.worldbody, robot.joint_names, config.control.joint_damping)
    add_hand(spec, link7, config.peg, fovy=42.0)
    if robot.command.backend == "cartesian_pose":
        _add_impedance(spec, config.control)
    else:
        _add_joint_control(spec, robot.joint_names, config.control)
    return spec.compile()


def _set_options(spec: mujoco.MjSpec, config: SimConfig) -> None:
    spec.option.timestep = 1.0 / config.control.physics_rate
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.default.geom.solref = (0.008, 1.0)
    spec.visual.headlight.ambient = (0.25, 0.25, 0.25)
    spec.visual.headlight.diffuse = (0.25, 0.25, 0.25)
    spec.visual.headlight.specular = (0.0, 0.0, 0.0)
    spec.visual.map.znear, spec.visual.map.zfar = 0.01, 20.0


def _add_surroundings(spec: mujoco.MjSpec) -> None:
    spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=(0.75, 0.82, 0.88), rgb2=(0.45, 0.52, 0.58), width=64, height=64,
    )  # fmt: skip
    # The third size is the spacing of the grid that is drawn: 0.01 would make 240 x 240 tiles and cost most of a frame.
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=(1.5, 1.5, 3.0), rgba=(0.33, 0.38, 0.42, 1.0), contype=0, conaffinity=0
    )
    for name, position in (("key", (1.2, -0.8, 1.5)), ("fill", (0.6, 1.0, 1.2))):
        spec.worldbody.add_light(
            name=name, pos=position, dir=np.array((0.5, 0.0, 0.0)) - position, diffuse=(0.38, 0.38, 0.38),
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, specular=(0.0, 0.0, 0.0), castshadow=(name == "key"),
        )  # fmt: skip


def _add_cameras(world: mujoco.MjsBody, config: SimConfig) -> None:
    hole = np.array([*config.board.position, config.board.height])
    up = np.array([0.0, 0.0, 1.0])
    for name, offset, look_at, fovy in (
        ("front", (0.17, -0.17, 0.11), (0.0, 0.0, 0.013), 24.0),
        ("overview", (0.75, -0.95, 0.42), (-0.20, 0.03, 0.27), 40.0),
    ):
        position = hole + offset
        world.add_camera(name=name, pos=position, quat=looking(position, hole + look_at, up), fovy=fovy)


def _add_joint_control(spec: mujoco.MjSpec, joint_names: tuple[str, ...], control: ControlConfig) -> None:
    """Seven spring-dampers between the joints and their desired positions."""
    for name, p, d in zip(joint_names, control.joint_p, control.joint_d):
        actuator = spec.add_actuator(name=f"control_{name}", target=name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = p
        actuator.biasprm[:3] = (0.0, -p, -d)


def _add_impedance(spec: mujoco.MjSpec, control: ControlConfig) -> None:
    """Six spring-dampers between the sites `tool` and `target`: Cartesian impedance wholly inside MuJoCo."""
    target = spec.worldbody.add_body(name="target", mocap=True)
    target.add_site(name="target")
    gains = [(control.stiffness, control.damping)] * 3 + [
        (control.rotational_stiffness, control.rotational_damping)
    ] * 3
    for axis, (stiffness, damping) in enumerate(gains):
        actuator = spec.add_actuator(name=f"impedance{axis}", target="tool", refsite="target")
        actuator.trntype = mujoco.mjtTrn.mjTRN_SITE
        actuator.gear = np.eye(6)[axis]
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = 0.0
        actuator.biasprm[:3] = (0.0, -stiffness, -damping)
