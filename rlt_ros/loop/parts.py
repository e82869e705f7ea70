"""What the loop in one process is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rlt_ros.loop.policy import Policy
from rlt_ros.loop.requests import Request
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.robot.config import RobotConfig, load_robot
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotState
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.grid import Grid
from rlt_ros.sim.operator import OperatorConfig
from rlt_ros.sim.tasks import DEFAULT_TASK, find_task
from rlt_ros.types import Features, Mode, Observation, Phase, PolicyWeights, Transition

TRAINED, UNTRAINED, PIXELS = "token", "untrained", "pixels"
Z = (TRAINED, UNTRAINED, PIXELS)
"""What the agent gets besides proprioception and reference: the RL token, that of a random encoder, small pictures."""


class World(Protocol):
    """What is simulated (`sim.peg.PegInsertion`)."""

    def reset(self, seed: int | None) -> None:
        """Start an episode."""

    def state(self) -> RobotState:
        """What the arm measures."""

    def truth(self) -> Any:
        """What only a simulator knows."""

    def render(self) -> dict[str, np.ndarray]:
        """Camera pictures uint8 (h, w, 3); the same again until the next step."""

    def command(self, target: Pose) -> None:
        """Target of the tool centre point."""

    def command_gripper(self, width: float) -> None:
        """Width of the gripper, m."""

    def step(self) -> None:
        """Advance by one control period."""


class Extractor(Protocol):
    """Observations to features (`token.extractor.FeatureExtractor`)."""

    def features(self, observations: Sequence[Observation]) -> list[Features]:
        """One seeded pass per observation."""


class Operator(Protocol):
    """The person at the switch (`sim.operator.ScriptedOperator`)."""

    def decide(self, truth: Any, phase: Phase, steps_in_phase: int, mode: Mode, may_help: bool) -> list[Request]:
        """Buttons to press at one observation."""


class Person(Protocol):
    """Who drives when the operator takes over (`sim.expert.Expert`)."""

    def action(self, truth: Any, measured: Pose, target: Pose) -> np.ndarray:
        """Action (7,)."""


class Learner(Protocol):
    """Rows in, weights out (`rl.learner.Learner`)."""

    def add(self, rows: list[Transition]) -> int:
        """Store rows."""

    @property
    def due_updates(self) -> int:
        """Updates that could be made now."""

    def train(self, max_updates: int, stop: Callable[[], bool]) -> int:
        """Make updates that were earned, so many at most, until stop says so; how many."""

    def weights(self) -> PolicyWeights:
        """The newest weights; a new version only if they have changed."""

    def stats(self) -> Any:
        """What is known about learning: `rl.stats.LearnerStats`."""


@dataclass(frozen=True)
class Parts:
    """What the loop is made of.

    load: weights to a policy. image_size: side of the square policy images, pixels. chunk: C, control steps.
    """

    robot: RobotConfig
    world: World
    extractor: Extractor
    operator: Operator
    person: Person
    learner: Learner
    load: Callable[[PolicyWeights], Policy]
    image_size: int
    chunk: int


def real_parts(
    checkpoint: str,
    robot_config: str,
    seed: int,
    task: str = DEFAULT_TASK,
    agent: AgentConfig | None = None,
    operator: OperatorConfig | None = None,
    device: str = "cpu",
    vla_url: str = "",
    world: SimConfig | None = None,
    z: str = TRAINED,
    grid: Grid | None = None,
) -> Parts:
    """A simulated task, the frozen VLA and token of a Stage-1 checkpoint, a new learner.

    task: a name of `sim.tasks.TASKS`. agent: settings of the learner, by default those of the design with the
    checkpoint's chunk and the seed; its chunk is the loop's. operator: of the scripted person. device, vla_url: as in
    `token.checkpoint.load_stage1`. world: simulated instead of the task's own. z: "pixels" puts small pictures in the
    place of z_rl, which the agent learns to see by itself; anything else is the checkpoint's token. grid: of start
    states.
    Raises ContractMismatch if robot or task and checkpoint disagree, ValueError if the chunk is longer than the VLA's
    horizon, ImportError naming the extra if torch or MuJoCo is missing.
    """
    from rlt_ros.rl.learner import Learner as RLTLearner
    from rlt_ros.rl.weights import load_policy
    from rlt_ros.sim.episode import draw
    from rlt_ros.sim.expert import Expert
    from rlt_ros.sim.operator import ScriptedOperator
    from rlt_ros.sim.peg import PegInsertion
    from rlt_ros.token.checkpoint import load_stage1
    from rlt_ros.token.extractor import FeatureExtractor
    from rlt_ros.token.pixels import PixelExtractor, pixel_shape, with_pixels

    robot, stage1 = load_robot(robot_config), load_stage1(checkpoint, device, vla_url)
    contract = stage1.contract
    contract.check_robot(robot)
    contract.check_task(task)
    agent = agent or AgentConfig(chunk=contract.chunk, seed=seed)
    if z == PIXELS:
        agent, contract = replace(agent, pixels=pixel_shape(contract)), with_pixels(contract)
    if agent.chunk > contract.horizon:
        raise ValueError(f"chunk is {agent.chunk}; the VLA of {checkpoint} proposes {contract.horizon} steps")
    return Parts(
        robot=robot,
        world=PegInsertion(world or find_task(task).sim, robot, seed, grid or draw),
        extractor=(PixelExtractor if z == PIXELS else FeatureExtractor)(stage1, seed, threads=1),
        operator=ScriptedOperator(operator, seed=seed),
        person=Expert(robot),
        learner=RLTLearner(
            agent,
            Dims(*contract.sizes),
            contract.fingerprint,
            1e3 * robot.action_scale.translation,
            rotation_rad=robot.action_scale.rotation,
        ),
        load=lambda weights: load_policy(weights, contract.fingerprint),
        image_size=contract.image_size[0],
        chunk=agent.chunk,
    )
