"""A scripted person at the switch: looks at the simulator's truth and presses the buttons a person would press."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import PoseStamped

from rlt_ros import msg, srv
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS, Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats, header, stamp_of
from rlt_ros.nodes.convert_robot import pose_from_message
from rlt_ros.nodes.parameters import declare_dataclass
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.expert import Expert, Policy
from rlt_ros.sim.operator import OperatorConfig, ScriptedOperator
from rlt_ros.sim.truth import Truth
from rlt_ros.types import Driver, ExecutedStep, Mode, Phase, PolicyMode

if TYPE_CHECKING:
    from rlt_ros.nodes.teleop import TeleopNode


def truth_from_message(m: msg.SimTruth) -> Truth:
    """rlt_ros/SimTruth to Truth."""
    tip = np.array([m.tip.x, m.tip.y, m.tip.z])
    hole = pose_from_message(m.hole)
    return Truth(tip=tip, hole=hole, depth=m.depth, lateral=m.lateral, success=m.success, turn=m.turn)


def mark_from_message(m: PoseStamped) -> float:
    """Direction of the board's mark, rad about z of the base frame, from its pose (x axis towards the mark)."""
    return float(pose_from_message(m.pose).rotation.as_rotvec()[2])


class ScriptedPerson:
    """Decides once per observation and calls teleop's own services, the way a person's panel does.

    policy: what the person does at the handle. marked: the board carries a mark; then the person looks at it too.
    """

    def __init__(self, node: TeleopNode, robot: RobotConfig, policy: Policy, marked: bool = False) -> None:
        self._node, self._policy = node, policy
        self._space = robot.action_space
        self._target: Pose | None = None
        self._commanded: Pose | None = None
        self._followed = self._took_over = 0
        self._before = Driver.HOLD
        self._human = node.create_publisher(msg.HumanAction, "human_action", qos.STEP)
        self._sent: msg.HumanAction | None = None
        self._set_mode = node.create_client(srv.SetPolicyMode, "set_policy_mode")
        self._label = node.create_client(srv.LabelEpisode, "label_episode")
        self._seen: dict[str, tuple[int, Any]] = {}
        self._streams = ("truth", "pose", "mark") if marked else ("truth", "pose")
        self._presses: deque[Request] = deque()
        self._waiting = self._pressed = False
        self._decided = 0
        self._look(node, robot.topics.current_pose)

    def _look(self, node: TeleopNode, pose_topic: str) -> None:
        def stream(name: str, convert: Any) -> Any:
            def keep(message: Any) -> None:
                self._seen[name] = (stamp_of(message.header), convert(message))
                node.go_on()

            return keep

        def truth(message: msg.SimTruth) -> Truth:
            self._commanded = pose_from_message(message.target)
            return truth_from_message(message)

        node.listen(msg.SimTruth, "sim/truth", stream("truth", truth), qos.STEP)
        pose = stream("pose", lambda m: pose_from_message(m.pose))
        node.listen(PoseStamped, node.robot_topic(pose_topic), pose, qos.SENSOR)
        if "mark" in self._streams:
            node.listen(PoseStamped, "sim/mark", stream("mark", mark_from_message), qos.STEP)

    @property
    def truth(self) -> Truth:
        """What the person sees now; only after `ready`."""
        mark = self._seen["mark"][1] if "mark" in self._streams else math.nan
        return replace(self._seen["truth"][1], mark=mark)

    def ready(self, stamp: int) -> bool:
        """Whether every button for the observation with this stamp was pressed and answered."""
        if self._waiting or not self._sees(stamp):
            return False
        # In real time a later observation may have come while a button was answered: its word lets the button take
        # effect, before the person looks again.
        if self._decided != stamp and not self._pressed:
            self._decided = stamp
            self._presses.extend(self._decide(self.truth))
            self._pressed = bool(self._presses)
            self._press_next()
        if self._waiting:
            return False
        self._pressed = False
        return True

    def _sees(self, stamp: int) -> bool:
        """In lockstep a person looks at the moment of the observation, whatever arrives first."""
        stamps = [self._seen.get(stream, (0, None))[0] for stream in self._streams]
        return all(s == stamp for s in stamps) if self._node.lockstep else all(stamps)

    def _decide(self, truth: Truth) -> list[Request]:
        """The buttons to press at one observation."""
        raise NotImplementedError

    def follow(self, step: ExecutedStep) -> None:
        """Keep count of the executor's target: it starts from its last one where a person or a policy drove before,
        and from the measured pose otherwise. Every step counts once, however late it comes."""
        if step.observation_id <= self._followed:
            return
        self._followed, self._before = step.observation_id, step.driver
        if step.driver is Driver.HUMAN and self._target is not None:
            self._target = self._space.target(self._target, step.sent)
        elif step.observation_id >= self._took_over:
            self._target = None

    def drive(self, word: PolicyMode) -> None:
        """Send one step of the policy where the person drives."""
        measured = self._seen["pose"][1]
        if self._target is None:
            start = self._commanded if self._before in (Driver.VLA, Driver.ACTOR) else measured
            self._target, self._took_over = start, word.observation_id
        action = self._policy.action(self.truth, measured, self._target)
        answers = word.observation_id
        self._sent = msg.HumanAction(header=header(word.stamp), observation_id=answers, action=floats(action))
        self._human.publish(self._sent)

    def repeat(self, observation_id: int) -> None:
        """Send the step for an observation again: somebody may have missed it."""
        if self._sent is not None and self._sent.observation_id == observation_id:
            self._human.publish(self._sent)

    def _press_next(self) -> None:
        if not self._presses:
            return
        request = self._presses.popleft()
        self._waiting = True
        self._call(request).add_done_callback(lambda future: self._on_answer(request, future))

    def _call(self, request: Request) -> Any:
        if request in LABEL_REQUESTS:
            return self._label.call_async(srv.LabelEpisode.Request(label=LABEL_REQUESTS.index(request)))
        return self._set_mode.call_async(srv.SetPolicyMode.Request(mode=MODE_REQUESTS.index(request)))

    def _on_answer(self, request: Request, future: Any) -> None:
        answer = future.result()
        if not answer.success:
            self._node.get_logger().warning(f"{request.value} was refused: {answer.message}")
        self._waiting = False
        self._press_next()
        self._node.go_on()


class PractisingPerson(ScriptedPerson):
    """Begins and labels the phases of a session, and helps with the exact expert if told to."""

    def __init__(self, node: TeleopNode, robot: RobotConfig, seed: int) -> None:
        super().__init__(node, robot, Expert(robot))
        self._operator = ScriptedOperator(declare_dataclass(node, OperatorConfig), seed)

    def _decide(self, truth: Truth) -> list[Request]:
        conductor = self._node.conductor
        if conductor.finished:
            return []
        phase = conductor.machine.phase
        if phase in (Phase.IDLE, Phase.LABELLED):
            # After a label the session's next plan has begun the reset, unless somebody has stopped the arm. A pause is
            # somebody else's wish.
            waits = conductor.machine.mode is Mode.HOLD and not conductor.machine.paused
            return [Request.RESET] if waits else []
        mode, may_help = conductor.machine.mode, not conductor.evaluating
        return self._operator.decide(truth, phase, conductor.steps_in_phase, mode, may_help)
