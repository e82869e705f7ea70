"""The way to the controller over DDS: messages of each back-end, and what is said to be missing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from arm_states import AT_HOME, HOME, far, measured, step
from geometry_msgs.msg import PoseStamped, TwistStamped
from graph import new_domain
from moveit_msgs.msg import ServoStatus
from moveit_msgs.srv import ServoCommandType
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from rlt_ros.nodes import qos
from rlt_ros.nodes.commands import CommandPort
from rlt_ros.nodes.convert import stamp_of
from rlt_ros.nodes.convert_commands import trajectory_from_message, twist_from_message
from rlt_ros.nodes.convert_robot import pose_from_message
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.commands.base import CommandRefused, SetPoint
from rlt_ros.robot.config import RobotConfig, load_robot
from rlt_ros.robot.kinematics import description_of
from rlt_ros.strict import build

STAMP = 5_050_000_000
TARGET = step(HOME, x=0.004)
KINDS = {"target_pose": PoseStamped, "joint_trajectory": JointTrajectory, "twist": TwistStamped}


@dataclass
class Pair:
    """A node with a port, and one that plays the controller."""

    node: BaseNode
    other: BaseNode
    executor: SingleThreadedExecutor
    heard: list[Any] = field(default_factory=list)

    def listen(self, kind: type, topic: str) -> None:
        self.other.create_subscription(kind, topic, self.heard.append, qos.COMMAND)

    def until(self, condition: Callable[[], Any], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "nothing came"
            self.executor.spin_once(timeout_sec=0.05)


@pytest.fixture
def make() -> Iterator[Callable[..., Pair]]:
    context, made = Context(), []
    rclpy.init(args=[], context=context, domain_id=new_domain())

    def start(lockstep: bool = False, namespace: str = "") -> Pair:
        arguments = ["--ros-args", "-p", f"lockstep:={str(lockstep).lower()}", "-p", f"robot_namespace:='{namespace}'"]
        node = BaseNode("executor", context=context, cli_args=arguments)
        pair = Pair(node, BaseNode("controller", context=context), SingleThreadedExecutor(context=context))
        for member in (pair.node, pair.other):
            pair.executor.add_node(member)
        made.append(pair)
        return pair

    yield start
    for pair in made:
        pair.executor.shutdown(1.0)
        pair.node.destroy_node()
        pair.other.destroy_node()
    rclpy.shutdown(context=context)


def connected(pair: Pair, robot: RobotConfig, topic: str, kind: type) -> CommandPort:
    port = CommandPort(pair.node, robot)
    pair.listen(kind, topic)
    pair.until(lambda: pair.node.count_subscribers(port.topic) == 1 and port.publishers() == 1)
    return port


def test_target_poses(make: Callable[..., Pair]) -> None:
    pair = make()
    port = connected(pair, load_robot(), "/target_pose", PoseStamped)
    assert port.missing() == ()
    port.send([SetPoint(TARGET)], measured(), STAMP)
    pair.until(lambda: pair.heard)
    assert pair.heard[0].header.frame_id == "fr3_link0" and stamp_of(pair.heard[0].header) == STAMP
    assert far(pose_from_message(pair.heard[0].pose), TARGET) < 1e-12


def test_joint_trajectories_start_at_once_in_real_time(make: Callable[..., Pair]) -> None:
    pair = make()
    port = connected(pair, load_robot("fr3_joint_trajectory"), "/fr3_arm_controller/joint_trajectory", JointTrajectory)
    port.send([SetPoint(TARGET), SetPoint(step(TARGET, x=0.002), 0.05)], measured(), STAMP)
    pair.until(lambda: pair.heard)
    message = pair.heard[0]
    assert stamp_of(message.header) == 0, "stamp 0 means now: clocks of two machines may differ"
    sent = trajectory_from_message(message)
    assert sent.names == load_robot().joint_names and sent.times.tolist() == [0.1, 0.15]
    assert np.abs(sent.velocities[0]).max() > 0.0 and (sent.velocities[1] == 0.0).all()


def test_in_lockstep_a_repeated_command_is_the_same_message(make: Callable[..., Pair]) -> None:
    pair = make(lockstep=True)
    port = connected(pair, load_robot("fr3_joint_trajectory"), "/fr3_arm_controller/joint_trajectory", JointTrajectory)
    for count, stamp in enumerate((STAMP, STAMP, STAMP + 50_000_000), start=1):
        port.send([SetPoint(TARGET)], measured(), stamp)
        pair.until(lambda count=count: len(pair.heard) == count)
    assert pair.heard[0] == pair.heard[1] and stamp_of(pair.heard[0].header) == STAMP
    assert stamp_of(pair.heard[2].header) == STAMP + 50_000_000


def test_a_hold_of_the_joint_back_end_is_one_point(make: Callable[..., Pair]) -> None:
    pair = make()
    port = connected(pair, load_robot("fr3_joint_trajectory"), "/fr3_arm_controller/joint_trajectory", JointTrajectory)
    port.hold(HOME, measured(), STAMP)
    pair.until(lambda: pair.heard)
    assert [list(point.positions) for point in pair.heard[0].points] == [AT_HOME.tolist()]


def test_what_the_back_end_refuses_is_not_sent(make: Callable[..., Pair]) -> None:
    pair = make()
    port = connected(pair, load_robot("fr3_joint_trajectory"), "/fr3_arm_controller/joint_trajectory", JointTrajectory)
    with pytest.raises(CommandRefused, match="jump: joint"):
        port.send([SetPoint(step(HOME, x=0.2))], measured(), STAMP)
    port.send([SetPoint(TARGET)], measured(), STAMP)
    pair.until(lambda: pair.heard)
    assert len(pair.heard) == 1


def test_the_robots_own_description_is_taken_before_the_first_command(make: Callable[..., Pair]) -> None:
    pair = make(namespace="left")
    robot = load_robot("fr3_joint_trajectory")
    longer = description_of(robot).replace("0.1034", "0.2034")
    latched = pair.other.create_publisher(String, "/left/robot_description", qos.LATCHED)
    latched.publish(String(data=longer))
    port = connected(pair, robot, "/left/fr3_arm_controller/joint_trajectory", JointTrajectory)
    pair.until(lambda: port.missing() == ())
    assert port.refuses(TARGET, measured()).startswith("model: the measured pose is 100.0 mm")
    tool = measured(pose=HOME.moved(HOME.rotation.apply([0.0, 0.0, 0.1]), np.zeros(3)))
    assert port.refuses(step(tool.pose, x=0.004), tool) == ""


def test_a_description_after_the_first_command_changes_nothing(make: Callable[..., Pair]) -> None:
    pair = make()
    robot = load_robot("fr3_joint_trajectory")
    port = connected(pair, robot, "/fr3_arm_controller/joint_trajectory", JointTrajectory)
    assert port.missing() == ("/robot_description has said nothing: the FR3's own numbers are used",)
    port.send([SetPoint(TARGET)], measured(), STAMP)
    latched = pair.other.create_publisher(String, "/robot_description", qos.LATCHED)
    latched.publish(String(data=description_of(robot).replace("0.1034", "0.2034")))
    pair.until(lambda: pair.node.refused["/robot_description"] == 1)
    assert port.refuses(TARGET, measured()) == ""


def test_a_description_of_something_else_is_refused_and_said(make: Callable[..., Pair], capfd: Any) -> None:
    pair = make()
    port = CommandPort(pair.node, load_robot("fr3_joint_trajectory"))
    latched = pair.other.create_publisher(String, "/robot_description", qos.LATCHED)
    latched.publish(String(data='<robot name="cart"><link name="base"/></robot>'))
    pair.until(lambda: pair.node.refused["/robot_description"] == 1)
    assert "/robot_description: robot description: joint 'fr3_joint1' is missing" in capfd.readouterr().err
    assert port.refuses(TARGET, measured()) == ""


def test_stiffness_is_sent_once_where_the_config_has_it(make: Callable[..., Pair]) -> None:
    pair, default = make(), load_robot()
    settings = {"stiffness": [600.0, 600.0, 600.0, 30.0, 30.0, 30.0]}
    command = default.command
    section = build(type(command.cartesian_pose), settings, "cartesian_pose")
    CommandPort(pair.node, replace(default, command=replace(command, cartesian_pose=section)))
    pair.other.create_subscription(Float64MultiArray, "/target_stiffness", pair.heard.append, qos.LATCHED)
    pair.until(lambda: pair.heard)
    assert list(pair.heard[0].data) == settings["stiffness"]


class ServoStandIn:
    """Servo's service and status."""

    def __init__(self, pair: Pair) -> None:
        self.types: list[int] = []
        pair.other.create_service(ServoCommandType, "/servo_node/switch_command_type", self._switch)
        self._status = pair.other.create_publisher(ServoStatus, "/servo_node/status", qos.STATS)

    def _switch(self, request: Any, response: Any) -> Any:
        self.types.append(request.command_type)
        response.success = True
        return response

    def say(self, code: int) -> None:
        self._status.publish(ServoStatus(code=code, message="Halting for singularity"))


def test_servo_is_told_to_take_twists(make: Callable[..., Pair]) -> None:
    pair = make()
    port = connected(pair, load_robot("fr3_servo"), "/servo_node/delta_twist_cmds", TwistStamped)
    assert "has not confirmed that Servo takes twists" in port.missing()[0]
    servo = ServoStandIn(pair)
    pair.until(lambda: port.missing() == ())
    assert servo.types[0] == ServoCommandType.Request.TWIST
    port.send([SetPoint(TARGET)], measured(), STAMP)
    pair.until(lambda: pair.heard)
    stamp, frame, twist = twist_from_message(pair.heard[0])
    assert (stamp, frame) == (STAMP, "fr3_link0")
    np.testing.assert_allclose(twist, [0.08, 0, 0, 0, 0, 0], atol=1e-6)


def test_servos_own_halt_is_a_reason_to_hold_while_it_lasts(make: Callable[..., Pair]) -> None:
    pair = make()
    port = connected(pair, load_robot("fr3_servo"), "/servo_node/delta_twist_cmds", TwistStamped)
    servo = ServoStandIn(pair)
    pair.until(lambda: servo.say(2) or port.refuses(TARGET, measured()))
    assert port.refuses(TARGET, measured()) == "servo: status 2, Halting for singularity"
    with pytest.raises(CommandRefused, match="servo: status 2"):
        port.send([SetPoint(TARGET)], measured(), STAMP)
    pair.until(lambda: servo.say(0) or not port.refuses(TARGET, measured()))


def test_a_second_publisher_is_seen(make: Callable[..., Pair]) -> None:
    pair = make()
    port = connected(pair, load_robot(), "/target_pose", PoseStamped)
    pair.other.create_publisher(PoseStamped, "/target_pose", qos.COMMAND)
    pair.until(lambda: port.publishers() == 2)


def test_without_a_controller_that_is_said(make: Callable[..., Pair]) -> None:
    pair = make()
    assert CommandPort(pair.node, load_robot()).missing() == (
        "/target_pose has no subscriber: is the controller active?",
    )


def test_everything_runs_without_optional_messages_and_says_what_is_missing() -> None:
    script = Path(__file__).with_name("without_optional.py")
    env = {**os.environ, "ROS_DOMAIN_ID": str(new_domain())}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" | ", 1) for line in done.stdout.splitlines())
    assert set(said) == {"fr3_crisp", "fr3_joint_trajectory", "fr3_servo", "sim"}
    assert "moveit_msgs is not installed: Servo's command type and status are not known" in said["fr3_servo"]
    assert "moveit_msgs is not installed: Servo must have been told to take twists" in done.stderr
    assert "Traceback" not in done.stderr
