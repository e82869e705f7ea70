"""joint_trajectory_controller of ros2_controllers, Humble to Kilted: which messages it takes, and its splines.

With `interpolate_from_desired_state` (Humble: open_loop_control), as replacing a running trajectory needs, and without
`allow_partial_joints_goal` and `allow_nonzero_velocity_at_trajectory_end`.
"""

from __future__ import annotations

import numpy as np

from rlt_ros.robot.commands.base import Trajectory
from rlt_ros.sim.controllers.base import Rejected


class TrajectoryFollower:
    """Desired positions and velocities of joints over time. names: the controller's joints, in its own order.

    Times in s on the controller's clock.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.reset(np.zeros(len(names)), 0.0)

    def reset(self, positions: np.ndarray, now: float) -> None:
        """Activated: hold these positions (n,) in rad."""
        self._times, self._knots = np.array([now]), np.array([positions], dtype=np.float64)
        self._slopes: np.ndarray | None = np.zeros_like(self._knots)

    def accept(self, trajectory: Trajectory, start: float, now: float) -> None:
        """Replace the running trajectory by one that begins at `start`. Raises Rejected."""
        order = self._order(trajectory.names)
        self._check(trajectory, start, now)
        position, velocity = self.sample(now)
        times = start + trajectory.times
        ahead = times > now
        self._times = np.concatenate([[now], times[ahead]])
        self._knots = np.vstack([position, trajectory.positions[ahead][:, order]])
        slopes = np.vstack([velocity, trajectory.velocities[ahead][:, order]])
        self._slopes = slopes if np.isfinite(slopes).all() else None

    def sample(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Desired positions (n,) in rad and velocities (n,) in rad/s: cubic where velocities are given, else linear."""
        if now >= self._times[-1]:
            return self._knots[-1].copy(), np.zeros(len(self._names))
        i = max(int(np.searchsorted(self._times, now, side="right")) - 1, 0)
        length, begin, end = self._times[i + 1] - self._times[i], self._knots[i], self._knots[i + 1]
        s = min(max((now - self._times[i]) / length, 0.0), 1.0)
        if self._slopes is None:
            return begin + s * (end - begin), (end - begin) / length
        first, last = self._slopes[i] * length, self._slopes[i + 1] * length
        a, b = 2 * (begin - end) + first + last, 3 * (end - begin) - 2 * first - last
        return begin + s * (first + s * (b + s * a)), (first + s * (2 * b + 3 * s * a)) / length

    def _order(self, names: tuple[str, ...]) -> list[int]:
        if len(names) != len(self._names):
            raise Rejected(f"joints on trajectory {list(names)} do not match the controller's {list(self._names)}")
        unknown = [name for name in self._names if name not in names]
        if unknown:
            raise Rejected(f"joint {unknown[0]!r} is not on the trajectory; it has {list(names)}")
        return [names.index(name) for name in self._names]

    def _check(self, trajectory: Trajectory, start: float, now: float) -> None:
        times = trajectory.times
        if not times.size:
            raise Rejected("empty trajectory received")
        if times[0] < 0.0 or (np.diff(times) <= 0.0).any():
            raise Rejected(f"times from start must rise strictly, found {times.tolist()}")
        if start + times[-1] < now:
            raise Rejected(f"the last point lies {now - start - times[-1]:.3f} s in the past")
        if not np.isfinite(trajectory.positions).all():
            raise Rejected("positions are not finite")
        last = trajectory.velocities[-1]
        if np.isfinite(last).any() and (last != 0.0).any():
            raise Rejected(f"velocity of the last point is not zero: {last.tolist()}")
