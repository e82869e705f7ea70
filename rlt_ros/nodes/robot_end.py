"""The learner's topics and services towards one robot; it may have several."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rclpy.duration import Duration

from rlt_ros import msg, srv
from rlt_ros.nodes import qos

if TYPE_CHECKING:
    from rlt_ros.nodes.learner import LearnerNode

WEIGHTS_PATIENCE = 30.0
"""Seconds after which newer weights are given out although the last ones have not arrived everywhere."""


def robots(listed: str, own: str) -> tuple[str, ...]:
    """Namespaces, without slashes at their ends, of the robots that a learner serves.

    listed: separated by commas; empty: the robot of the learner's own namespace. Raises ValueError on one named twice.
    """
    if not listed.strip():
        return (own.strip("/"),)
    names = tuple(name.strip().strip("/") for name in listed.split(","))
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(f"robots is {listed!r}; expected different namespaces, separated by commas")
    return names


class RobotEnd:
    """Publishers, subscription and services under the namespace of one robot.

    A publisher of its own for each robot, so that one that cannot be reached does not hold up the weights of another.
    """

    def __init__(self, node: LearnerNode, robot: str) -> None:
        self.robot = robot
        self._acks = node.create_publisher(msg.TransitionAck, self._name("transition_ack"), qos.STEP)
        self._weights = node.create_publisher(msg.PolicyWeights, self._name("policy_weights"), qos.LATCHED)
        self._stats = node.create_publisher(msg.LearnerStats, self._name("learner_stats"), qos.STATS)
        self._given, self._given_at = 0, 0.0
        node.listen(msg.Transition, self._name("transition"), node.on_transition, qos.TRANSITIONS)
        node.create_service(srv.SaveCheckpoint, self._name("save_checkpoint"), node.on_save)
        node.create_service(srv.FetchWeights, self._name("fetch_weights"), node.on_fetch)

    def _name(self, topic: str) -> str:
        return f"/{self.robot}/{topic}" if self.robot else f"/{topic}"

    def acknowledge(self, ack: msg.TransitionAck) -> None:
        """Send a receipt."""
        self._acks.publish(ack)

    def report(self, stats: msg.LearnerStats) -> None:
        """Send the statistics."""
        self._stats.publish(stats)

    def lacks(self, version: int) -> bool:
        """Weights of this version are new to the robot and can be sent: it is not receiving others any more.

        A link that takes longer for them than the time between two versions would otherwise never bring any.
        """
        return version > self._given and self._taken()

    def give(self, weights: msg.PolicyWeights) -> None:
        """Send weights."""
        self._weights.publish(weights)
        self._given, self._given_at = weights.version, time.monotonic()

    def _taken(self) -> bool:
        if time.monotonic() - self._given_at > WEIGHTS_PATIENCE:
            return True
        return self._weights.wait_for_all_acked(Duration())
