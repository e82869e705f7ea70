from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.pose import Pose
from rlt_ros.sim.expert import Demonstrator, DemonstratorConfig, Expert, Policy
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import rollout
from rlt_ros.sim.truth import Truth


def outcomes(world: PegInsertion, policy: Policy, seeds: range) -> tuple[int, list[int], float]:
    """Successes, lengths of the successes, and the largest step-mean force (N) over some episodes."""
    lengths, force = [], 0.0
    for seed in seeds:
        steps = list(rollout(world, policy, seed))
        force = max(force, max(float(np.linalg.norm(s.state.force)) for s in steps))
        if steps[-1].truth.success:
            lengths.append(len(steps))
    return len(lengths), lengths, force


def test_expert_inserts_every_time(world: PegInsertion, robot: RobotConfig) -> None:
    successes, lengths, _ = outcomes(world, Expert(robot), range(100, 120))
    assert successes == 20
    assert 44 <= np.mean(lengths) <= 55  # the way down alone, 55 mm on average at 1.25 mm a step, takes 44


def test_biased_demonstrator_is_imperfect_and_gentle(world: PegInsertion, robot: RobotConfig) -> None:
    successes, _, force = outcomes(world, Demonstrator(robot, seed=0), range(200, 216))
    assert 3 <= successes <= 13
    assert force <= 32.0  # N, step mean


def test_more_bias_succeeds_less(world: PegInsertion, robot: RobotConfig) -> None:
    far = DemonstratorConfig(bias=(0.006, -0.004))
    assert outcomes(world, Demonstrator(robot, far, seed=0), range(200, 206))[0] <= 2


@pytest.mark.parametrize("make", [Expert, Demonstrator])
def test_actions_lie_in_the_action_space(world: PegInsertion, robot: RobotConfig, make: type) -> None:
    for step in rollout(world, make(robot), seed=4, max_steps=30):
        assert step.action.shape == (7,) and step.action.dtype == np.float32
        assert (np.abs(step.action) <= 1.0).all() and step.action[6] == -1.0


def test_demonstrator_does_not_look_within_a_chunk(world: PegInsertion, robot: RobotConfig) -> None:
    world.reset(3)
    one, two = Demonstrator(robot, seed=7), Demonstrator(robot, seed=7)
    truth, pose = world.truth(), world.pose
    planned = one.plan(truth, pose, pose)
    moved = pose.moved(np.array([0.004, 0, 0]), np.zeros(3))
    np.testing.assert_array_equal(planned[0], two.action(truth, pose, pose))
    for row in planned[1:]:
        np.testing.assert_array_equal(row, two.action(truth, moved, moved))


def test_demonstrators_error_is_the_configured_one(world: PegInsertion, robot: RobotConfig) -> None:
    # Without the random parts the tip ends up where the bias says, less what friction under the pressed peg holds back:
    # 12 N * 0.35 / 1200 N/m = 3.5 mm.
    config = DemonstratorConfig(bias=(0.010, -0.005), episode_error=0.0, chunk_error=0.0, noise=0.0)
    steps = list(rollout(world, Demonstrator(robot, config), seed=4, max_steps=30))
    offset = steps[-1].truth.tip - steps[-1].truth.hole.position
    np.testing.assert_allclose(offset[:2], [0.010, -0.005], atol=3.5e-3)
    assert abs(offset[2]) < 0.001


class Pushing:
    """Always downwards; remembers how far the last target was from the measured pose."""

    def __init__(self) -> None:
        self.distances: list[float] = []

    def reset(self) -> None:
        self.distances.clear()

    def action(self, truth: Truth, measured: Pose, target: Pose) -> np.ndarray:
        self.distances.append(float(np.linalg.norm(target.position - measured.position)))
        return np.array([0, 0, -1, 0, 0, 0, -1], dtype=np.float32)


def test_targets_stay_on_the_leash(world: PegInsertion, robot: RobotConfig) -> None:
    policy = Pushing()
    steps = list(rollout(world, policy, seed=1, max_steps=60))
    assert max(policy.distances) < 0.0125  # the leash, and what an impact throws back within a step
    assert policy.distances[-1] == pytest.approx(0.010, abs=3e-4)
    assert steps[-1].action[2] == pytest.approx(0.0, abs=0.05)  # recomputed from what was sent: nothing moved any more


def test_pictures_come_when_asked_for(world: PegInsertion, robot: RobotConfig) -> None:
    step = next(rollout(world, Expert(robot), seed=4, images=True))
    assert set(step.images) == {"front", "wrist"}
    assert next(rollout(world, Expert(robot), seed=4)).images == {}
