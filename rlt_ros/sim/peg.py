"""The simulated world without ROS: an FR3 that inserts a peg, whatever its shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.robot.commands.base import SetPoint
from rlt_ros.robot.commands.choice import backend_of
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import READY, inverse
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.sim.cameras import Intrinsics, Photographer, PixelNoise, intrinsics
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.controllers.choice import controller_of
from rlt_ros.sim.engine import mujoco
from rlt_ros.sim.episode import Episode, draw
from rlt_ros.sim.fingers import Fingers
from rlt_ros.sim.hand import FINGERS
from rlt_ros.sim.judge import judge
from rlt_ros.sim.scene import CAMERAS, build
from rlt_ros.sim.shapes.choice import shape_of
from rlt_ros.sim.truth import Truth
from rlt_ros.sim.wrench import step_measured

_SEED_LIMIT = 2**31
_FORCE_STREAM, _PIXEL_STREAM = 1, 2


class PegInsertion:
    """FR3 with a peg in its hand over a board with a hole, under the controller that the robot config names.

    The world starts reset. The same seed gives the same scene, start, noise and, for the same commands, the same motion
    and pictures, bit for bit on one machine. seed: of the own sequence that `reset(None)` draws from. drawn: what a
    seed stands for.
    Raises ValueError if rates do not divide or the robot config names a camera that the scene lacks.
    """

    def __init__(
        self,
        config: SimConfig,
        robot: RobotConfig,
        seed: int = 0,
        drawn: Callable[[SimConfig, Pose, int], Episode] = draw,
    ) -> None:
        self.config, self.robot, self._drawn = config, robot, drawn
        self._substeps = _substeps(config, robot)
        self._camera_ids = _camera_ids(robot)
        self.model = build(config, robot)
        self.data = mujoco.MjData(self.model)
        self._tool, self._tip, self._peg = (self.data.site("tool"), self.data.site("tip"), self.data.body("peg"))
        self._board_id = int(self.model.body("board").mocapid[0])
        self._mark_id = int(self.model.body("mark").mocapid[0]) if config.board.marked else None
        self._solid = np.flatnonzero(self.model.geom_contype)
        self._lamps = self.model.light_diffuse.copy()
        self.controller = controller_of(config.control, robot, self.model, self.data)
        self.fingers = Fingers(shape_of(config.peg).grip, robot.gripper.speed)
        self._noise = PixelNoise(config.sensors.pixel_noise)
        self._photographer: Photographer | None = None
        self._seeds = np.random.default_rng(seed)
        self.reset(None)

    def reset(self, seed: int | None = None) -> None:
        """Teleport to the start of an episode; None takes the next seed of the own sequence.

        Raises ValueError if the seed is negative.
        """
        seed = int(self._seeds.integers(_SEED_LIMIT)) if seed is None else seed
        self.episode = self._drawn(self.config, self.robot.reference, seed)
        self.steps = 0
        self._sensor_rng = np.random.default_rng((self.episode.seed, _FORCE_STREAM))
        self._wrench = np.zeros(6)
        self.fingers.reset()
        self._place(self.episode)
        self.controller.reset()
        self._backend = backend_of(self.robot)

    def _place(self, episode: Episode) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.model.geom_friction[self._solid, 0] = episode.friction
        self.model.light_diffuse[:] = self._lamps * episode.light
        self._set_mocap(self._board_id, episode.hole)
        if self._mark_id is not None:
            turn = Rotation.from_rotvec([0.0, 0.0, episode.mark]).as_quat()
            self._set_mocap(self._mark_id, Pose.of(episode.hole.position, turn))
        self.data.qpos[:] = inverse(episode.start, READY)
        self.controller.place(episode.start)
        self._place_fingers()
        mujoco.mj_forward(self.model, self.data)

    def _set_mocap(self, index: int, pose: Pose) -> None:
        self.data.mocap_pos[index] = pose.position
        self.data.mocap_quat[index] = np.roll(pose.quaternion, 1)

    def _place_fingers(self) -> None:
        for name, side in zip(FINGERS, (1, -1)):
            self.model.body(name).pos[1] = side * self.fingers.width / 2

    def refuses(self, target: Pose, state: RobotState) -> str:
        """Why the robot config's back-end cannot command a target; empty if it can."""
        return self._backend.refuses(target, state)

    def command(self, target: Pose) -> None:
        """Target of the tool centre point, held until the next one, by way of the robot config's back-end.

        Raises ValueError if it is not a finite pose, CommandRefused where `refuses` gives a reason.
        """
        self.accept(self._backend.command([SetPoint(target)], self.state(), self.time))

    def hold(self, target: Pose) -> None:
        """Stay at a target, in the words of the robot config's back-end."""
        self.accept(self._backend.hold(target, self.state(), self.time))

    def accept(self, command: Any, delay: float = 0.0) -> None:
        """A command in the controller's own words, from `delay` seconds on. Raises Rejected, saying why."""
        self.controller.accept(command, delay)

    def halt(self) -> None:
        """Start the controller from where the arm is, as its activation does."""
        self.controller.reset()
        self._backend.restart()

    def command_gripper(self, width: float, speed: float | None = None) -> None:
        """Move the fingers to a width in m (speed in m/s, None: as configured); closing ends at the peg."""
        self.fingers.command(width, speed)

    def step(self) -> None:
        """Advance by one control period; the external wrench is the mean over its cycles."""
        cycles = self.config.control.cycles
        total = np.zeros(6)
        for _ in range(cycles):
            total += self._cycle()
        self.steps += 1
        self._wrench = total / cycles + self._sensor_noise()
        if self.fingers.moving:
            self.fingers.advance(1.0 / self.robot.control_rate)
            self._place_fingers()
        mujoco.mj_forward(self.model, self.data)

    def _cycle(self) -> np.ndarray:
        self.controller.cycle()
        return step_measured(self.model, self.data, self._peg.id, self._tool.id, self._substeps)

    def _sensor_noise(self) -> np.ndarray:
        sensors = self.config.sensors
        return self._sensor_rng.normal(0.0, np.repeat([sensors.force_noise, sensors.torque_noise], 3))

    @property
    def time(self) -> float:
        """Simulated seconds since the reset."""
        return float(self.data.time)

    @property
    def pose(self) -> Pose:
        """Measured pose of the tool centre point, base frame."""
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, self._tool.xmat)
        return Pose.of(self._tool.xpos, np.roll(quat, -1))

    @property
    def desired(self) -> Pose:
        """Pose that the controller wants at present, base frame."""
        return self.controller.desired

    @property
    def efforts(self) -> np.ndarray:
        """Joint torques float64 (7,) in Nm as the arm's sensors would measure them, gravity load included."""
        return self.data.qfrc_actuator + self.data.qfrc_gravcomp

    @property
    def finger_positions(self) -> np.ndarray:
        """Positions float64 (2,) of the finger joints in m: half the width each."""
        return np.full(2, self.fingers.width / 2)

    def state(self) -> RobotState:
        """What the arm measures, stamp 0; the wrench is the mean over the last step."""
        return RobotState(
            stamp=0,
            pose=self.pose,
            joint_positions=self.data.qpos.copy(),
            joint_velocities=self.data.qvel.copy(),
            force=self._wrench[:3].copy(),
            torque=self._wrench[3:].copy(),
            gripper_width=self.fingers.width,
            mode=RobotMode.MOVE,
        )

    def truth(self) -> Truth:
        """Where the peg really is, and where the board's mark points."""
        mark = self.episode.mark if self.config.board.marked else math.nan
        return judge(self._tip.xpos, self.episode.hole, self.config, mark)

    def render(self) -> dict[str, np.ndarray]:
        """Pictures RGB uint8 (height, width, 3) of the robot config's cameras; the same again until the next step."""
        sensors = self.config.sensors
        if self._photographer is None:
            self._photographer = Photographer(self.model, sensors.width, sensors.height)
        key = (self.episode.seed, _PIXEL_STREAM, self.steps)
        return {
            name: self._noise.apply(self._photographer.picture(self.data, name), (*key, i))
            for name, i in self._camera_ids.items()
        }

    def intrinsics(self, camera: str) -> Intrinsics:
        """Intrinsics of a camera at the size that `render` gives."""
        return intrinsics(self.model, camera, self.config.sensors.width, self.config.sensors.height)

    def camera_place(self, camera: str) -> tuple[bool, Pose]:
        """Whether a camera is mounted on the hand, and the pose of its optical frame (z forward, y down) there or in
        the base frame."""
        one = self.model.camera(camera)
        body = int(one.bodyid[0])
        turn = Rotation.from_quat(np.roll(one.quat, -1)) * Rotation.from_rotvec([np.pi, 0.0, 0.0])
        return self.model.body(body).name == "hand", Pose.of(one.pos, turn.as_quat())

    def close(self) -> None:
        """Free the OpenGL context; rendering again opens a new one."""
        if self._photographer is not None:
            self._photographer.close()
            self._photographer = None


def _substeps(config: SimConfig, robot: RobotConfig) -> int:
    """Physics steps per controller cycle."""
    cycle_rate = robot.control_rate * config.control.cycles
    substeps = round(config.control.physics_rate / cycle_rate)
    if substeps < 1 or abs(substeps * cycle_rate - config.control.physics_rate) > 1e-6:
        raise ValueError(
            f"control.physics_rate {config.control.physics_rate} Hz is no multiple of control_rate "
            f"{robot.control_rate} Hz times control.cycles {config.control.cycles}"
        )
    return substeps


def _camera_ids(robot: RobotConfig) -> dict[str, int]:
    missing = sorted(set(robot.cameras) - set(CAMERAS))
    if missing:
        raise ValueError(f"robot config: camera {missing[0]!r} is not simulated; known are {', '.join(CAMERAS)}")
    return {name: CAMERAS.index(name) for name in robot.cameras}
