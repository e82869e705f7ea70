"""What is wanted of the next episode."""

from __future__ import annotations

from dataclasses import dataclass

from rlt_ros.robot.pose import Pose
from rlt_ros.types import Mode


@dataclass(frozen=True)
class EpisodePlan:
    """Settings of one episode; the defaults are those of a person who practises by hand."""

    policy: Mode = Mode.RL  # VLA, HUMAN or RL: who drives the critical phase; RL falls back to VLA until the gate opens
    explore: bool = True  # held noise on the policy's actions in the critical phase
    record: bool = True  # rows of the critical phase go to the learner
    evaluation: bool = False  # nothing is learned, the averaged actor drives without sampling
    reset_seed: int = -1  # start state wanted from the reset before it, negative for any
    stage: str = "practice"  # part of the run that it belongs to
    approach: Mode = Mode.VLA  # VLA or HUMAN: who drives until the critical phase begins
    reset_start: Pose | None = None  # about which that is drawn; None: about the start of the robot config
    reset: bool = True  # the robot is reset before it; without, the person puts arm and scene in order by hand

    def __post_init__(self) -> None:
        if self.policy not in (Mode.VLA, Mode.RL, Mode.HUMAN):
            raise ValueError(f"policy is {self.policy!r}; expected Mode.VLA, Mode.RL or Mode.HUMAN")
        if self.approach not in (Mode.VLA, Mode.HUMAN):
            raise ValueError(f"approach is {self.approach!r}; expected Mode.VLA or Mode.HUMAN")
        if self.evaluation and self.record:
            raise ValueError("an evaluation episode must not be recorded: evaluation is true and record is true")
