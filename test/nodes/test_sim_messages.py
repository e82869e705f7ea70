"""The simulator's truth comes over the wire as the scripted person needs it."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rclpy.serialization import deserialize_message, serialize_message

from rlt_ros import msg
from rlt_ros.nodes.scripted import truth_from_message
from rlt_ros.nodes.sim_messages import truth
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.tasks import TASKS


@pytest.mark.parametrize("task", TASKS)
def test_the_truth_of_every_task_arrives_with_the_turn_that_the_hole_asks_for(task: str) -> None:
    world = PegInsertion(TASKS[task].sim, load_robot())
    world.reset(5)
    sent = world.truth()
    message = deserialize_message(serialize_message(truth(world, stamp=7)), msg.SimTruth)
    received = truth_from_message(message)
    for name in {field.name for field in fields(sent)} - {"hole", "mark"}:  # the mark has a topic of its own
        np.testing.assert_array_equal(getattr(received, name), getattr(sent, name), err_msg=name)
    assert math.isnan(received.turn) is (task != "connector")
