"""The simulated robot: topics, types, frames and QoS of franka_ros2, crisp_controllers and a camera driver."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState

from rlt_ros import msg, srv
from rlt_ros.nodes import qos
from rlt_ros.nodes import sim_messages as build
from rlt_ros.nodes.convert import stamp_of
from rlt_ros.nodes.convert_robot import pose_to_message
from rlt_ros.nodes.diagnostics import WARN, Diagnostics, Reports
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.nodes.sim_commands import SimCommands
from rlt_ros.nodes.sim_faults import SimFaults
from rlt_ros.nodes.sim_frames import SimFrames
from rlt_ros.nodes.sim_gripper import SimGripper
from rlt_ros.ranges import Pixels, Seconds, Seed
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.tasks import DEFAULT_TASK, find_task

STATE_RATE = 100.0
CAMERA_EVERY = 3


class SimNode(BaseNode):
    """Publishes one set of sensor messages per step.

    In lockstep a step is a control period and the next one begins when `executed_step` (and, if it says so, the
    command) with this step's stamp has come; after `stall_after` seconds without it the set is sent again. In real time
    a steady timer moves the world at 100 Hz.
    """

    def __init__(self) -> None:
        super().__init__("sim")
        robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        seed = declare(self, "seed", 0, "Seed of the start states that are not asked for by number.", Seed)
        width = declare(self, "image_width", 128, "Width of the camera images [pixels].", Pixels)
        height = declare(self, "image_height", 128, "Height of the camera images [pixels].", Pixels)
        self._stall_after = declare(self, "stall_after", 0.5, "Lockstep: seconds until a step is sent again.", Seconds)
        config = find_task(declare(self, "task", DEFAULT_TASK, "What is simulated: a name of sim.tasks.TASKS.")).sim
        config = replace(config, sensors=replace(config.sensors, width=width, height=height))
        if not self.lockstep:
            config = replace(config, control=replace(config.control, cycles=1))
            robot = replace(robot, control_rate=STATE_RATE)
        self._world = PegInsertion(config, robot, seed)
        self._robot = robot
        self._period = round(1e9 / robot.control_rate)
        self._steps = 0
        self._stalls = 0
        self._answer: msg.ExecutedStep | None = None
        self._heard = self._world.pose
        self._command: tuple[int, Any] | None = None
        self._sent: list[tuple[Publisher, Any]] = []
        self._sent_at = 0.0
        self._ticked = time.monotonic()
        self._late = 0.0
        self._advertise()
        self._gripper = SimGripper(self, self._world)
        self._frames = SimFrames(self, self._world, robot)
        self._commands = SimCommands(self, self._world, robot, self._on_command)
        self._faults = SimFaults(self, self._world, robot)
        self.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.STEP)
        self.create_service(srv.ResetRobot, self.robot_topic(robot.topics.reset), self._on_reset)
        self._waiting = self.every(0.1, self._start_when_matched)
        Reports(self, robot.name, self._diagnose)

    @property
    def stamp(self) -> int:
        """Stamp of the present step in ns; a first step at 0 would look like an unset stamp."""
        return max(1, (self._steps + 1) * self._period + self._faults.robot.clock_offset)

    @property
    def robot_time(self) -> float:
        """Seconds since the simulator began."""
        return (self._steps + 1) * self._period / 1e9

    def _advertise(self) -> None:
        topics, add = self._robot.topics, self._publisher
        self._clock_out = add(Clock, "/clock", qos.SENSOR)
        self._truths = self.create_publisher(msg.SimTruth, "sim/truth", qos.STEP)
        self._state_parts: list[tuple[str, Publisher, Callable[[Any, int], Any]]] = [
            ("joint_states", add(JointState, topics.joint_states, qos.BROADCASTER), self._arm_joints),
            ("joint_states", add(JointState, "franka/joint_states", qos.STATS), self._arm_joints),
            ("current_pose", add(PoseStamped, topics.current_pose, qos.BROADCASTER), self._current_pose),
            ("external_wrench", add(WrenchStamped, topics.external_wrench, qos.BROADCASTER), self._external_wrench),
            ("gripper_joint_states", add(JointState, topics.gripper_joint_states, qos.STATS), self._finger_joints),
        ]
        if self._world.config.board.marked:
            publisher = self.create_publisher(PoseStamped, "sim/mark", qos.STEP)
            self._state_parts.append(("mark", publisher, lambda state, t: build.mark(self._world, t)))
        if build.FrankaRobotState is not None:
            publisher = add(build.FrankaRobotState, topics.robot_state, qos.STATS)
            report = lambda state, t: build.robot_report(self._world, state, t)  # noqa: E731
            self._state_parts.append(("robot_state", publisher, report))
        self._images = {name: add(Image, topic, qos.STATS) for name, topic in self._robot.cameras.items()}
        infos = {name: topic.rsplit("/", 1)[0] + "/camera_info" for name, topic in self._robot.cameras.items()}
        self._infos = {name: add(CameraInfo, topic, qos.STATS) for name, topic in infos.items()}

    def _publisher(self, kind: type, topic: str, profile: QoSProfile) -> Publisher:
        name = topic if topic.startswith("/") else self.robot_topic(topic)
        return self.create_publisher(kind, name, profile)

    def _arm_joints(self, state: Any, stamp: int) -> JointState:
        return build.arm_joints(self._world, state, stamp)

    def _finger_joints(self, state: Any, stamp: int) -> JointState:
        return build.finger_joints(self._robot, state.gripper_width, stamp)

    def _current_pose(self, state: Any, stamp: int) -> PoseStamped:
        return build.current_pose(state, stamp, self._robot.base_frame)

    def _external_wrench(self, state: Any, stamp: int) -> WrenchStamped:
        return build.wrench(state, stamp, self._robot.base_frame)

    def _truth(self, stamp: int) -> msg.SimTruth:
        told = {"stalls": int(self._stalls), "robot_time": float(self.robot_time), "late": float(self._late)}
        target = pose_to_message(self._heard)
        return build.truth(self._world, stamp, target=target, faults=self._faults.robot.names, **told)

    def _diagnose(self, say: Diagnostics) -> None:
        faults = ", ".join(self._faults.robot.names)
        counts = {"steps": self._steps, "stalls": self._stalls, "late": f"{self._late:.3f}"}
        say.say("simulator", f"simulated faults: {faults}" if faults else "", "no fault", WARN, **counts)

    # start

    def _start_when_matched(self) -> None:
        absent = [p.topic_name for p in self._images.values() if p.get_subscription_count() == 0]
        if self.lockstep and self.count_publishers(self.resolve_topic_name("executed_step")) == 0:
            absent.append("executed_step")
        if self.lockstep and absent:
            self.get_logger().info(f"waiting for the other side of {absent}", throttle_duration_sec=5.0)
            return
        self._waiting.cancel()
        self._publish(with_images=True)
        if self.lockstep:
            self.every(self._stall_after / 5, self._on_stall_check)
        else:
            self.every(1.0 / STATE_RATE, self._on_tick)

    # stepping

    def _on_tick(self) -> None:
        ticked, self._ticked = self._ticked, time.monotonic()
        self._late = max(0.0, self._ticked - ticked - 1.0 / STATE_RATE)
        self._move_on()
        self._publish(with_images=self._steps % CAMERA_EVERY == 0)

    def _move_on(self) -> None:
        self._faults.advance(self.robot_time)
        if not self._faults.robot.gripper_stuck:
            self._gripper.apply()
        self._world.step()
        self._steps += 1

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        if self.lockstep and stamp_of(message.header) == self.stamp:
            self._answer = message
            self._advance_when_answered()

    def _on_command(self, stamp: int, command: Any) -> None:
        if not self.lockstep:
            self._accept(command, (stamp - self.stamp) / 1e9 if stamp else 0.0)
            return
        self._command = (stamp, command)
        self._advance_when_answered()

    def _advance_when_answered(self) -> None:
        if self._answer is None:
            return
        if self._answer.commanded:
            if self._command is None or self._command[0] != self.stamp:
                return
            self._accept(self._command[1])
        self._answer = None
        self._move_on()
        self._publish(with_images=True)

    def _accept(self, command: Any, delay: float = 0.0) -> None:
        pose = self._commands.pose_of(command)
        if not self._faults.robot.deaf:
            self._world.accept(command, delay)
        self._heard = pose

    def _on_stall_check(self) -> None:
        if time.monotonic() - self._sent_at < self._stall_after:
            return
        self._stalls += 1
        self._send()

    def _on_reset(self, request: srv.ResetRobot.Request, response: srv.ResetRobot.Response) -> srv.ResetRobot.Response:
        self._world.reset(int(request.seed) if request.seed >= 0 else None)
        response.success, response.message = True, f"start state {self._world.episode.seed}"
        return response

    # publishing

    def _publish(self, with_images: bool) -> None:
        robot, stamp = self._faults.robot, self.stamp
        state = robot.state(self._world.state())
        clock = [] if robot.clock_stopped else [(self._clock_out, build.clock(stamp))]
        told = [(out, make(state, stamp)) for name, out, make in self._state_parts if not robot.silent(name)]
        self._sent = [*clock, *told, (self._truths, self._truth(stamp))]
        self._frames.tell(state, stamp)
        if with_images:
            for name, rgb in self._world.render().items():
                self._photograph(name, rgb, stamp)
        self._send()

    def _photograph(self, camera: str, rgb: np.ndarray, stamp: int) -> None:
        taken = self._faults.robot.picture(camera, rgb, stamp)
        if taken is None:
            return
        rgb, stamp = taken
        info = (self._infos[camera], build.camera_info(self._world, camera, stamp))
        for out, message in (info, (self._images[camera], build.image(camera, rgb, stamp))):
            if self.lockstep:
                self._sent.append((out, message))
            else:
                self._faults.send_late(self._faults.robot.due(camera), out, message)

    def _send(self) -> None:
        self._sent_at = time.monotonic()
        for publisher, message in self._sent:
            publisher.publish(message)
        self._faults.flush()

    def close(self) -> None:
        self._world.close()


def main() -> None:
    """Entry point."""
    run(SimNode)
