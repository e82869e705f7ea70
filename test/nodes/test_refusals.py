"""A node that cannot be set up says why (field reports A17, D07); rclpy itself would swallow it."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.lifecycle import TransitionCallbackReturn

from rlt_ros.nodes.runtime import ManagedNode
from rlt_ros.rl.checkpoint import CheckpointError


class Refusing(ManagedNode):
    """Finds a checkpoint that is not its own."""

    def setup(self) -> None:
        raise CheckpointError("gamma is 0.9; this run has 0.99")


@pytest.fixture
def node():
    rclpy.init(args=[])
    made = Refusing("refusing")
    yield made
    made.destroy_node()
    rclpy.shutdown()


def test_a_refused_checkpoint_fails_the_transition_and_is_said(node, capfd):
    assert node.trigger_configure() == TransitionCallbackReturn.FAILURE
    assert "cannot configure: gamma is 0.9; this run has 0.99" in capfd.readouterr().err
