"""The external wrench, as Franka's state estimator would report it."""

from __future__ import annotations

import numpy as np

from rlt_ros.sim.engine import mujoco


def step_measured(model: mujoco.MjModel, data: mujoco.MjData, body: int, site: int, steps: int) -> np.ndarray:
    """Advance the physics and return the mean contact wrench float64 (6,) on a body meanwhile.

    Force (N), then torque (Nm) about a site, along the base axes. The sign is that of the force that the environment
    exerts on the robot: pressing down on a table gives +z. No bias, no inertial part: zero in free space. The mean is
    over every physics step: single values peak at several times the mean on impact.
    """
    total = np.zeros(6)
    for _ in range(steps):
        mujoco.mj_step(model, data)
        if data.ncon:
            mujoco.mj_rnePostConstraint(model, data)
            total += data.cfrc_ext[body]
    torque, force = total[:3] / steps, total[3:] / steps
    # MuJoCo refers these wrenches to the centre of mass of the whole tree.
    lever = data.subtree_com[model.body_rootid[body]] - data.site_xpos[site]
    return np.concatenate([force, torque + np.cross(lever, force)])
