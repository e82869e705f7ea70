"""The scripted person who demonstrates: still until a demonstration has begun, then the demonstrator of the task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlt_ros.loop.requests import Request
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.scripted import ScriptedPerson
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.expert import CLOSED, Demonstrator, Expert, Policy
from rlt_ros.sim.recordist import Recordist, RecordistConfig
from rlt_ros.sim.tasks import DEFAULT_TASK, find_task
from rlt_ros.sim.truth import Truth
from rlt_ros.types import ACTION_NAMES, GRIPPER, Mode, Phase, PolicyMode

if TYPE_CHECKING:
    from rlt_ros.nodes.collect_teleop import CollectTeleopNode

DEMONSTRATORS = ("task", "expert")


class PatientPolicy:
    """Holds still, the gripper closed, until told to go; then the policy, which begins anew with every phase."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._phase_id = 0

    def reset(self) -> None:
        """Nothing to forget: phases are told apart by `phase`."""

    def phase(self, phase_id: int) -> None:
        """The phase of the next action, 0 outside."""
        if phase_id and phase_id != self._phase_id:
            self._policy.reset()
        self._phase_id = phase_id

    def action(self, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        """The next action float32 (7,)."""
        if self._phase_id:
            return self._policy.action(truth, measured, target)
        still = np.zeros(len(ACTION_NAMES), dtype=np.float32)
        still[GRIPPER] = CLOSED
        return still


class DemonstratingPerson(ScriptedPerson):
    """Begins when the collector can record, demonstrates, labels.

    In lockstep the person lets the simulator wait for the collector, so that a start state does not depend on the speed
    of the disk.
    """

    def __init__(self, node: CollectTeleopNode, robot: RobotConfig, seed: int) -> None:
        task = find_task(declare(node, "task", DEFAULT_TASK, "What is simulated: a name of sim.tasks.TASKS."))
        who = declare(node, "demonstrator", "task", "task: with the errors of the task's demonstrator; expert: exact.")
        if who not in DEMONSTRATORS:
            raise ValueError(f"demonstrator is {who!r}; expected one of {', '.join(DEMONSTRATORS)}")
        exact = who == "expert"
        self._patient = PatientPolicy(Expert(robot) if exact else Demonstrator(robot, task.demonstrator, seed))
        self._recordist = Recordist(declare_dataclass(node, RecordistConfig))
        super().__init__(node, robot, self._patient, marked=task.sim.board.marked and not exact)

    def ready(self, stamp: int) -> bool:
        return not (self._node.lockstep and self._must_wait()) and super().ready(stamp)

    def _must_wait(self) -> bool:
        # From the first observation on: the simulator repeats it until the collector knows its publisher too.
        starting = self._node.gate.status is None
        return starting or (self._node.conductor.machine.phase is Phase.APPROACH and not self._settled())

    def _settled(self) -> bool:
        return self._node.gate.settled(self._node.conductor.machine.phase_id)

    def _decide(self, truth: Truth) -> list[Request]:
        conductor = self._node.conductor
        machine = conductor.machine
        if machine.phase is Phase.IDLE:
            return [] if machine.mode is Mode.RESET else [Request.RESET]
        return self._recordist.decide(truth, machine.phase, conductor.steps_in_phase, self._settled())

    def drive(self, word: PolicyMode) -> None:
        self._patient.phase(word.phase_id)
        super().drive(word)
