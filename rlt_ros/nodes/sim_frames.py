"""The simulated robot's description and frames, as robot_state_publisher and calibrated cameras give them."""

from __future__ import annotations

import numpy as np
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from rlt_ros.nodes import qos
from rlt_ros.nodes.frames import StaticFrames, tf_message
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.nodes.sim_messages import camera_frame
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.frames import FrameTree, Transform
from rlt_ros.robot.kinematics import description_of
from rlt_ros.robot.state import RobotState
from rlt_ros.sim.peg import PegInsertion


class SimFrames:
    """robot_description and /tf_static, latched; /tf for whoever listens."""

    def __init__(self, node: BaseNode, world: PegInsertion, robot: RobotConfig) -> None:
        self._robot = robot
        description = description_of(robot)
        self._tree = FrameTree(description)
        self._description = node.create_publisher(String, node.robot_topic(robot.topics.robot_description), qos.LATCHED)
        self._description.publish(String(data=description))
        self._static = StaticFrames(node, [*self._tree.static(), *_cameras(world, robot)])
        self._moving = node.create_publisher(TFMessage, "/tf", qos.STEP)

    def tell(self, state: RobotState, stamp: int) -> None:
        """Publish the frames of a measured state. stamp: ns."""
        values = np.concatenate([state.joint_positions, np.full(2, state.gripper_width / 2)])
        if self._moving.get_subscription_count() == 0 or not np.isfinite(values).all():
            return
        names = (*self._robot.joint_names, *self._robot.finger_joint_names)
        self._moving.publish(tf_message(self._tree.moving(dict(zip(names, values))), stamp))


def _cameras(world: PegInsertion, robot: RobotConfig) -> list[Transform]:
    hand = f"{robot.base_frame.removesuffix('link0')}hand"
    places = {name: world.camera_place(name) for name in robot.cameras}
    return [
        Transform(hand if on_hand else robot.base_frame, camera_frame(name), pose)
        for name, (on_hand, pose) in places.items()
    ]
