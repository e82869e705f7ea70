"""A scripted person at the switch: looks at the simulator's truth and presses the buttons a person would press."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import PoseStamped

from rlt_ros import msg, srv
from rlt_ros.loop.requests import Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats, header, stamp_of
from rlt_ros.nodes.convert_robot import pose_from_message
from rlt_ros.nodes.parameters import declare_dataclass
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.expert import Expert
from rlt_ros.sim.operator import OperatorConfig, ScriptedOperator
from rlt_ros.sim.truth import Truth
from rlt_ros.types import Driver, ExecutedStep, Mode, Phase, PolicyMode

if TYPE_CHECKING:
    from rlt_ros.nodes.teleop import TeleopNode

MODES = {
    Request.MODE_HOLD: 0,
    Request.MODE_VLA: 1,
    Request.MODE_RL: 2,
    Request.MODE_HUMAN: 3,
    Request.RESET: 4,
}
LABELS = {Request.BEGIN: 0, Request.SUCCESS: 1, Request.FAILURE: 2, Request.DISCARD: 3, Request.ABORT: 4}


def truth_from_message(m: msg.SimTruth) -> Truth:
    """rlt_ros/SimTruth to Truth."""
    tip = np.array([m.tip.x, m.tip.y, m.tip.z])
    return Truth(tip=tip, hole=pose_from_message(m.hole), depth=m.depth, lateral=m.lateral, success=m.success)


class ScriptedPerson:
    """Decides once per observation and calls teleop's own services, the way a person's panel does."""

    def __init__(self, node: TeleopNode, robot: RobotConfig, seed: int) -> None:
        self._node = node
        self._operator = ScriptedOperator(declare_dataclass(node, OperatorConfig), seed)
        self._expert = Expert(robot)
        self._space = robot.action_space
        self._measured: Pose | None = None
        self._target: Pose | None = None
        self._human = node.create_publisher(msg.HumanAction, "human_action", qos.STEP)
        self._set_mode = node.create_client(srv.SetPolicyMode, "set_policy_mode")
        self._label = node.create_client(srv.LabelEpisode, "label_episode")
        self._truth: tuple[int, Truth] | None = None
        self._presses: deque[Request] = deque()
        self._waiting = False
        self._decided = 0
        node.listen(msg.SimTruth, "sim/truth", self._on_truth, qos.STEP)
        node.listen(PoseStamped, node.robot_topic(robot.topics.current_pose), self._on_pose, qos.SENSOR)

    def _on_pose(self, message: PoseStamped) -> None:
        self._measured = pose_from_message(message.pose)

    def _on_truth(self, message: msg.SimTruth) -> None:
        self._truth = (stamp_of(message.header), truth_from_message(message))
        self._node.go_on()

    def ready(self, stamp: int) -> bool:
        """Whether every button for the observation with this stamp was pressed and answered."""
        if self._truth is None or self._waiting or (self._node.lockstep and self._truth[0] != stamp):
            return False
        if self._decided != stamp:
            self._decided = stamp
            self._presses.extend(self._decide(self._truth[1]))
            self._press_next()
        return not self._waiting

    def _decide(self, truth: Truth) -> list[Request]:
        conductor = self._node.conductor
        if conductor.finished:
            return []
        phase = conductor.machine.phase
        if phase is Phase.IDLE:
            return [] if conductor.machine.mode is Mode.RESET else [Request.RESET]
        if phase is Phase.LABELLED:
            return []  # the session's next plan has begun the reset
        mode, may_help = conductor.machine.mode, not conductor.evaluating
        return self._operator.decide(truth, phase, conductor.steps_in_phase, mode, may_help)

    def drive(self, word: PolicyMode, executed: ExecutedStep | None) -> None:
        """Send one step towards the hole where the person has taken over."""
        if self._measured is None or self._truth is None:
            return
        # The executor starts from the measured pose at a takeover and from its last target while the person goes on.
        goes_on = self._target is not None and executed is not None and executed.driver is Driver.HUMAN
        start = self._space.target(self._target, executed.sent) if goes_on else self._measured
        self._target = start
        action = self._expert.action(self._truth[1], self._measured, start)
        message = msg.HumanAction(header=header(word.stamp), observation_id=word.observation_id, action=floats(action))
        self._human.publish(message)

    def _press_next(self) -> None:
        if not self._presses:
            return
        request = self._presses.popleft()
        self._waiting = True
        self._call(request).add_done_callback(lambda future: self._on_answer(request, future))

    def _call(self, request: Request) -> Any:
        if request in LABELS:
            return self._label.call_async(srv.LabelEpisode.Request(label=LABELS[request]))
        return self._set_mode.call_async(srv.SetPolicyMode.Request(mode=MODES[request]))

    def _on_answer(self, request: Request, future: Any) -> None:
        answer = future.result()
        if not answer.success:
            self._node.get_logger().warning(f"{request.value} was refused: {answer.message}")
        self._waiting = False
        self._press_next()
        self._node.go_on()
