"""A person's device: answers every word of the operator with the same deflection, until it is killed."""

from __future__ import annotations

import sys

import rclpy

from rlt_ros import msg
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats


def main(upwards: float) -> None:
    rclpy.init()
    node = rclpy.create_node("stick")
    publisher = node.create_publisher(msg.HumanAction, "/rlt/human_action", qos.STEP)
    action = floats([0.0, 0.0, upwards, 0.0, 0.0, 0.0, -1.0])

    def answer(word: msg.PolicyMode) -> None:
        publisher.publish(msg.HumanAction(header=word.header, observation_id=0, action=action))

    node.create_subscription(msg.PolicyMode, "/rlt/policy_mode", answer, qos.STEP)
    rclpy.spin(node)


if __name__ == "__main__":
    main(float(sys.argv[1]))
