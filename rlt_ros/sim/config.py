"""Parameters of the simulated insertion; `strict.load` reads them from YAML.

Contact, stiffness and randomisation values are those that were measured to work: with a stiffer contact and no chamfer
impacts peak at 500 N and the expert succeeds in only 60 to 90 % of the episodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Range = tuple[float, float]


@dataclass(frozen=True)
class PegConfig:
    """The peg, welded into the hand, and the hole: a round one, or a plug and its socket."""

    shape: str = "round"
    """`round` or `rectangular`: a name of `sim.shapes.choice.SHAPES`."""
    radius: float = 0.008
    """m, of a round peg."""
    sides: tuple[float, float] = (0.020, 0.008)
    """m, of a rectangular peg along the tool's x and y; the fingers close along y."""
    length: float = 0.075
    """m, whole peg."""
    tip_offset: float = 0.055
    """m, from the tool centre point to the tip along the tool's z axis."""
    chamfer: float = 0.0015
    """m, at 45 degrees around the tip."""
    clearance: float = 0.001
    """m, between peg and hole on every side when the peg is in the middle."""
    success_depth: float = 0.020
    """m, the tip must be deeper than this below the board's surface."""

    def __post_init__(self) -> None:
        half_widths = {"round": self.radius, "rectangular": min(self.sides) / 2}
        if self.shape not in half_widths:
            raise ValueError(f"peg.shape is {self.shape!r}; known are {', '.join(half_widths)}")
        half = half_widths[self.shape]
        if not 0.0 < self.clearance < half:
            raise ValueError(f"peg.clearance is {self.clearance} m; expected 0 to half the peg's width, {half} m")


@dataclass(frozen=True)
class BoardConfig:
    """The board with the hole in its middle."""

    position: tuple[float, float] = (0.5, 0.0)
    """m, x and y of the middle of the hole's range, base frame."""
    height: float = 0.05
    """m, of the surface above the table; the table is at the height of the robot's base."""
    half_size: float = 0.07
    """m"""
    mark: tuple[float, float] = (0.0, 0.0)
    """m, size of the coloured pad beside the hole: away from it and across. Zeros: there is none."""

    @property
    def marked(self) -> bool:
        """Whether the board carries a pad."""
        return min(self.mark) > 0.0


@dataclass(frozen=True)
class RandomConfig:
    """What differs from episode to episode, uniform over the ranges."""

    hole: float = 0.020
    """m, half range of the hole's position along x and y."""
    yaw: float = 0.35
    """rad, half range of the board's yaw."""
    start_lateral: float = 0.015
    """m, half range of the tip's start along x and y, relative to the hole."""
    start_height: Range = (0.030, 0.040)
    """m, of the tip above the board's surface."""
    tilt: float = 0.03
    """rad, half range of the tool's tilt about x and y (1.7 degrees)."""
    friction: Range = (0.25, 0.35)
    """Sliding friction coefficient between peg and board."""
    light: Range = (0.85, 1.15)
    """Factor on the brightness of the lamps."""
    mark: Range = (-math.pi, math.pi)
    """rad, direction from the hole to the pad about z, base frame; independent of everything else."""


@dataclass(frozen=True)
class ControlConfig:
    """Cartesian impedance, what crisp_controllers' CartesianController puts before it, gains of joint controllers."""

    physics_rate: float = 500.0
    """Hz, of the physics and of the impedance law; a multiple of cycles times the robot's control rate."""
    cycles: int = 5
    """Per control step: how often the target is filtered and clipped and the wrench sampled."""
    stiffness: float = 1200.0
    """N/m"""
    rotational_stiffness: float = 50.0
    """Nm/rad"""
    damping: float = 130.0
    """Ns/m, near critical together with the joints' own damping."""
    rotational_damping: float = 5.0
    """Nms/rad"""
    joint_damping: float = 1.0
    """Nms/rad, keeps the elbow quiet."""
    filter_time: float = 0.0095
    """s, time constant of the target filter: crisp's 0.1 per cycle at 1 kHz."""
    error_clip: float = 0.010
    """m, each axis; target beyond it pulls no harder (crisp's task.error_clip)."""
    rotational_error_clip: float = 0.1
    """rad, each axis."""
    joint_p: tuple[float, ...] = (600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0)
    """Nm/rad, of the joint controllers: those of fr3_arm_controller in franka_fr3_moveit_config."""
    joint_d: tuple[float, ...] = (30.0, 30.0, 30.0, 30.0, 10.0, 10.0, 5.0)
    """Nms/rad"""


@dataclass(frozen=True)
class SensorConfig:
    """Cameras and force sensing."""

    width: int = 128
    """px"""
    height: int = 128
    """px"""
    pixel_noise: float = 2.0
    """Standard deviation of a pixel in levels of 255."""
    force_noise: float = 0.1
    """N, standard deviation per control step and axis."""
    torque_noise: float = 0.005
    """Nm, standard deviation per control step and axis."""


@dataclass(frozen=True)
class SimConfig:
    """The simulated world. Lengths in m, angles in rad, base frame of the robot (z up, table at z = 0)."""

    peg: PegConfig = field(default_factory=PegConfig)
    board: BoardConfig = field(default_factory=BoardConfig)
    random: RandomConfig = field(default_factory=RandomConfig)
    control: ControlConfig = field(default_factory=ControlConfig)
    sensors: SensorConfig = field(default_factory=SensorConfig)

    def __post_init__(self) -> None:
        if self.control.physics_rate < 500.0:
            raise ValueError(f"control.physics_rate is {self.control.physics_rate} Hz; the impedance needs 500 or more")
        if self.peg.success_depth >= self.board.height:
            raise ValueError(
                f"peg.success_depth {self.peg.success_depth} m reaches through the board of {self.board.height} m"
            )
