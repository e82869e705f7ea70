"""Quality-of-service profiles by what they are for."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(depth: int, reliable: bool = True, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


# franka_ros2 2.4 / 3.3 and camera drivers publish best effort: a reliable subscription would get nothing, silently.
SENSOR = _profile(5, reliable=False)
# What the broadcaster's convenience topics really offer.
BROADCASTER = _profile(1, reliable=False)
# crisp_controllers: depth 1, reliable.
COMMAND = _profile(1)
# One message per control step; deep enough to survive a busy moment of the other side.
STEP = _profile(50)
# A restarted observation node must learn where the count of observations stands.
EXECUTED = _profile(50, latched=True)
# A teleop that was started again speaks before everybody has found it.
EVENTS = _profile(50, latched=True)
# A burst of 400 rows at depth 100 silently lost half.
TRANSITIONS = _profile(5000)
# The newest value for those who join late.
LATCHED = _profile(1, latched=True)
STATS = _profile(10)
