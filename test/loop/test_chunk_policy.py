"""Chunks out of features. Field reports A01, A09, B55; method.md C.3 (24 to 27)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loop_parts import features, mode

from rlt_ros.loop.policy import ChunkPolicy, NonFinite
from rlt_ros.types import Driver, Features, Mode


class Constant:
    """An actor that always proposes the same, and remembers how it was asked."""

    def __init__(self, value: float, version: int = 4, length: int = 10) -> None:
        self.version, self.value, self.length = version, value, length
        self.evaluations: list[bool] = []

    def act(self, features: Features, evaluation: bool) -> np.ndarray:
        self.evaluations.append(evaluation)
        return np.full((self.length, 7), self.value, np.float32)


def made(policy: Constant | None = None, sigma: float = 0.1, **rest: object) -> ChunkPolicy:
    chunks = ChunkPolicy(10, sigma, 5, seed=3, **rest)
    chunks.swap(policy)
    return chunks


RL = mode(1, Mode.RL, phase_id=2)


def test_the_vla_chunk_is_the_first_part_of_its_reference() -> None:
    seen = replace(features(1), reference=np.arange(84, dtype=np.float32).reshape(12, 7) / 100)
    chunk = made().decide(seen, mode(1))
    np.testing.assert_array_equal(chunk.actions, seen.reference[:10])
    assert (chunk.driver, chunk.phase_id, chunk.weights_version, chunk.features_id) == (Driver.VLA, 0, 0, 1)
    assert chunk.actions.dtype == np.float32


def test_the_learned_chunk_with_the_gripper_of_the_reference() -> None:
    chunk = made(Constant(-0.3)).decide(features(1, value=0.9), RL)
    assert (chunk.driver, chunk.phase_id, chunk.weights_version) == (Driver.ACTOR, 2, 4)
    np.testing.assert_allclose(chunk.actions[:, :6], -0.3)
    np.testing.assert_allclose(chunk.actions[:, 6], 0.9)
    own = made(Constant(-0.3), gripper_passthrough=False).decide(features(1, value=0.9), RL)
    np.testing.assert_allclose(own.actions[:, 6], -0.3)


def test_noise_is_held_bounded_and_never_on_the_gripper() -> None:
    chunk = made(sigma=0.5).decide(features(1, value=0.0), replace(mode(1, phase_id=1), explore=True))
    noise = chunk.actions
    assert (noise[:5] == noise[0]).all() and (noise[5:] == noise[5]).all()
    assert (noise[0, :6] != noise[5, :6]).all()
    assert not noise[:, 6].any() and np.abs(noise).max() <= 1.0


def test_noise_depends_on_seed_and_observation_not_on_the_order() -> None:
    word = replace(mode(1, phase_id=1), explore=True)
    first, second = made(), made()
    a = [first.decide(features(i), word).actions for i in (1, 2)]
    b = [second.decide(features(i), word).actions for i in (2, 1)]
    np.testing.assert_array_equal(a[0], b[1])
    np.testing.assert_array_equal(a[1], b[0])
    assert (a[0] != a[1]).any()
    other = ChunkPolicy(10, 0.1, 5, seed=4).decide(features(1), word).actions
    assert (a[0] != other).any()


def test_noise_has_its_sigma() -> None:
    word, policy = replace(mode(1, phase_id=1), explore=True), made(sigma=0.1)
    noise = np.array([policy.decide(features(i, value=0.0), word).actions[::5, :6] for i in range(1, 501)])
    assert noise.std() == pytest.approx(0.1, rel=0.03) and abs(noise.mean()) < 0.004


def test_without_weights_rl_falls_back_to_the_vla_and_says_so() -> None:
    policy = made()
    chunk = policy.decide(features(1), RL)
    assert chunk.driver is Driver.VLA and policy.reason == "no learned weights have come yet"
    policy.swap(Constant(0.1))
    assert policy.decide(features(2), RL).driver is Driver.ACTOR and policy.reason == ""


def test_new_weights_count_from_the_next_decision() -> None:
    policy = made(Constant(0.1, version=1))
    before = policy.decide(features(1), RL)
    policy.swap(Constant(0.2, version=2))
    assert before.weights_version == 1 and before.actions[0, 0] == np.float32(0.1)
    assert policy.decide(features(2), RL).weights_version == policy.version == 2


def test_evaluation_asks_for_the_averaged_actor() -> None:
    actor = Constant(0.1)
    policy = made(actor)
    policy.decide(features(1), RL)
    policy.decide(features(2), replace(RL, evaluation=True))
    assert actor.evaluations == [False, True]


def test_actions_are_clipped() -> None:
    assert made(Constant(1.5)).decide(features(1), RL).actions[:, :6].max() == 1.0


@pytest.mark.parametrize("source", ["z", "proprio", "reference"])
def test_features_that_are_not_finite_give_no_chunk(source: str) -> None:
    broken = features(1)
    getattr(broken, source).flat[3] = np.nan
    with pytest.raises(NonFinite, match=f"features 1: {source} is nan at"):
        made(Constant(0.1)).decide(broken, RL)


def test_an_actor_that_is_not_finite_gives_no_chunk() -> None:
    with pytest.raises(NonFinite, match=r"actor, weights 4: action is inf at \[0, 0\]"):
        made(Constant(np.inf)).decide(features(1), RL)


def test_lengths_that_disagree_are_named() -> None:
    """B55: reference 5, chunk 10; actor 20, chunk 10."""
    with pytest.raises(ValueError, match="reference has 5 steps, the chunk needs 10"):
        made().decide(features(1, horizon=5), mode(1))
    with pytest.raises(ValueError, match=r"shape \(20, 7\); expected \(10, 7\)"):
        made(Constant(0.1, length=20)).decide(features(1), RL)
    with pytest.raises(ValueError, match="hold 0"):
        ChunkPolicy(10, 0.1, 0, 0)
