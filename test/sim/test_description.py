"""URDF and frames: the same arm as pinocchio's, MuJoCo's and the robot config's."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from rlt_ros.robot import kinematics
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.frames import FrameTree
from rlt_ros.robot.kinematics import ArmModel, description_of, model_of
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.peg import PegInsertion

Q = np.array([0.1, -0.4, 0.2, -2.0, -0.1, 1.8, 0.6])


def poses(tree: FrameTree, robot: RobotConfig, q: np.ndarray, width: float = 0.05) -> dict[str, Pose]:
    """Every frame's pose in the base frame."""
    values = dict(zip((*robot.joint_names, *robot.finger_joint_names), [*q, width / 2, width / 2]))
    transforms, found = [*tree.static(), *tree.moving(values)], {robot.base_frame: Pose.of([0, 0, 0], [0, 0, 0, 1])}
    while transforms:
        transform = next(t for t in transforms if t.parent in found)
        transforms.remove(transform)
        parent, local = found[transform.parent], transform.pose
        position = parent.position + parent.rotation.apply(local.position)
        found[transform.child] = Pose.of(position, (parent.rotation * local.rotation).as_quat())
    return found


def test_frames_lead_to_where_the_kinematics_put_the_tool(robot: RobotConfig) -> None:
    tool = poses(FrameTree(description_of(robot)), robot, Q)[robot.tool_frame]
    np.testing.assert_allclose(np.concatenate(tool.to(kinematics.forward(Q))), 0.0, atol=1e-12)


def test_frames_are_those_of_the_scene(world: PegInsertion, robot: RobotConfig) -> None:
    world.reset(2)
    found = poses(FrameTree(description_of(robot)), robot, world.data.qpos, world.fingers.width)
    bodies = {f"fr3_link{i}": f"link{i}" for i in range(1, 8)} | {"fr3_hand": "hand"}
    for frame, body in bodies.items():
        np.testing.assert_allclose(found[frame].position, world.data.body(body).xpos, atol=1e-9)
        np.testing.assert_allclose(
            found[frame].rotation.as_matrix(), world.data.body(body).xmat.reshape(3, 3), atol=1e-9
        )
    fingers = found["fr3_leftfinger"].position - found["fr3_rightfinger"].position
    assert np.linalg.norm(fingers) == pytest.approx(world.fingers.width)


@pytest.mark.parametrize("camera", ["front", "wrist"])
def test_cameras_look_along_the_z_axis_of_their_optical_frames(
    world: PegInsertion, robot: RobotConfig, camera: str
) -> None:
    world.reset(2)
    on_hand, place = world.camera_place(camera)
    assert on_hand == (camera == "wrist")
    found = poses(FrameTree(description_of(robot)), robot, world.data.qpos)
    parent = found["fr3_hand" if on_hand else robot.base_frame]
    rotation, seen = parent.rotation * place.rotation, world.data.camera(camera)
    np.testing.assert_allclose(parent.position + parent.rotation.apply(place.position), seen.xpos, atol=1e-9)
    np.testing.assert_allclose(rotation.apply([0, 0, 1]), -seen.xmat.reshape(3, 3)[:, 2], atol=1e-9)
    np.testing.assert_allclose(rotation.apply([0, 1, 0]), -seen.xmat.reshape(3, 3)[:, 1], atol=1e-9)


def test_limits_in_the_urdf_are_the_robot_configs(robot: RobotConfig) -> None:
    limits = {
        j.attrib["name"]: j.find("limit").attrib
        for j in Xml.fromstring(description_of(robot)).iter("joint")
        if j.find("limit") is not None
    }
    for i, name in enumerate(robot.joint_names):
        values = [float(limits[name][key]) for key in ("lower", "upper", "velocity")]
        assert values == [robot.arm.joints.lower[i], robot.arm.joints.upper[i], robot.arm.joints.velocity[i]]


def test_a_description_with_more_joints_and_another_order_of_links_gives_the_same_arm(robot: RobotConfig) -> None:
    root = Xml.fromstring(description_of(robot))
    for element in list(root):
        root.remove(element)
        root.insert(0, element)
    world = Xml.SubElement(root, "link", name="world")
    fixed = Xml.SubElement(root, "joint", name="world_joint", type="fixed")
    Xml.SubElement(fixed, "parent", link=world.attrib["name"])
    Xml.SubElement(fixed, "child", link=robot.base_frame)
    model = model_of(robot, Xml.tostring(root, encoding="unicode"))
    np.testing.assert_allclose(np.concatenate(model.forward(Q).to(kinematics.forward(Q))), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "text, message",
    [
        ('<robot name="r"><link name="a"/></robot>', "joint 'fr3_joint1' is missing"),
        ("no xml", "not a URDF"),
        ("", "not a URDF"),
    ],
)
def test_what_is_no_description_of_this_arm_is_refused(robot: RobotConfig, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArmModel(text, robot.joint_names, robot.tool_frame)


def test_a_description_without_the_tool_is_refused(robot: RobotConfig) -> None:
    with pytest.raises(ValueError, match="frame 'fr3_tool' is missing; it has"):
        ArmModel(description_of(robot), robot.joint_names, "fr3_tool")


@pytest.mark.parametrize(
    "text", ["no xml", '<robot><joint type="fixed"><parent link="a"/><child link="b"/></joint></robot>']
)
def test_frames_of_what_is_no_urdf_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a URDF"):
        FrameTree(text)
