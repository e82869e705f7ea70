"""Weights that are incomplete, foreign or damaged never replace those in use (field report A24)."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from synthetic import CONTRACT, DIMS, features, rows, small_config

from rlt_ros.rl.learner import Learner
from rlt_ros.rl.weights import (
    WeightsError,
    checksum,
    is_untrained,
    load_policy,
    read_about,
    read_policy_file,
    write_policy_file,
)

RNG = np.random.default_rng(0)


@pytest.fixture
def learner() -> Learner:
    subject = Learner(small_config(), DIMS, CONTRACT, 5.0)
    subject.add(rows(16))
    subject.train(60)
    return subject


def resealed(weights, data, **changes):
    """Other bytes under a checksum that fits them."""
    return replace(weights, data=data, checksum=checksum(data), **changes)


def edited(weights, edit, **about):
    tensors = load(weights.data)
    edit(tensors)
    return resealed(weights, save(tensors, {"policy": json.dumps(read_about(weights.data) | about)}))


def test_every_tensor_arrives(learner):
    with torch.no_grad():
        for parameter in [*learner.agent.actor.parameters(), *learner.agent.ema.parameters()]:
            parameter.add_(1.0)
    policy = load_policy(learner.weights(), CONTRACT)
    for name, own in (("_actor", learner.agent.actor), ("_ema", learner.agent.ema)):
        received = getattr(policy, name).state_dict()
        assert received.keys() == own.state_dict().keys()
        assert all(torch.equal(t, own.state_dict()[n]) for n, t in received.items())


def test_the_policy_acts_as_the_agent_does(learner):
    policy = load_policy(learner.weights(), CONTRACT)
    seen = features(1, RNG)
    state = torch.from_numpy(np.concatenate([seen.z, seen.proprio]))[None]
    reference = torch.from_numpy(seen.reference[None, :4, :2])
    for evaluation, net in ((False, learner.agent.actor), (True, learner.agent.ema)):
        chunk = policy.act(seen, evaluation)
        np.testing.assert_array_equal(chunk[:, :2], net(state, reference)[0].detach().numpy())
        np.testing.assert_array_equal(chunk[:, 2], seen.reference[:4, 2])  # the gripper is the reference's
        assert (chunk.shape, chunk.dtype) == ((4, 3), np.float32)
    assert not np.array_equal(policy.act(seen, False), policy.act(seen, True))


def test_acting_leaves_the_features_alone(learner):
    seen = features(1, RNG)
    before = seen.reference.copy()
    load_policy(learner.weights(), CONTRACT).act(seen)
    np.testing.assert_array_equal(seen.reference, before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"z": np.full(4, np.nan, np.float32)}, r"features 1: z\[0\] is nan"),
        ({"proprio": np.zeros(2, np.float32)}, r"proprio has shape \(2,\); expected \(3,\)"),
        ({"reference": np.zeros((3, 3), np.float32)}, "reference has 3 steps; expected 4 or more"),
        ({"reference": np.full((6, 3), np.inf, np.float32)}, r"reference\[0, 0\] is inf"),
    ],
)
def test_features_that_do_not_fit_are_refused(learner, changes, message):
    with pytest.raises(ValueError, match=message):
        load_policy(learner.weights(), CONTRACT).act(replace(features(1, RNG), **changes))


def test_what_does_not_fit_is_refused_with_both_values(learner):
    weights = learner.weights()
    cases = [
        (replace(weights, data=weights.data[:-1] + b"\0"), "checksum is"),
        (replace(weights, contract="other"), "contract is 'other'; expected 'c0ffee'"),
        (replace(weights, version=9), "version in the data is 1; expected 9"),
        (edited(weights, lambda t: None, contract="other"), "contract in the data is 'other'"),
        (edited(weights, lambda t: t.pop("actor.biases.1")), "actor: tensors differ: missing .*biases.1"),
        (edited(weights, lambda t: t.pop("ema.biases.1")), "ema: tensors differ: missing .*biases.1"),
        (edited(weights, lambda t: t.update({"actor.extra": torch.zeros(1)})), "unknown .*extra"),
        (edited(weights, lambda t: t.update({"critic.x": torch.zeros(1)})), r"\['critic.x'\]; expected \[\]"),
        (edited(weights, lambda t: t.update({"actor.biases.0": torch.zeros(3)})), r"shape \(3,\); expected \(16,\)"),
        (edited(weights, lambda t: None, config={"gama": 1}), "unknown key 'gama'"),
        (edited(weights, lambda t: None, dims={}), "weights version 1: .*missing key 'z'"),
        (resealed(weights, b"not safetensors"), "weights version 1: "),
        (resealed(weights, b""), "weights version 1: "),
    ]
    for bad, message in cases:
        with pytest.raises(WeightsError, match=message):
            load_policy(bad, CONTRACT)


def test_a_policy_in_use_does_not_change_with_further_training(learner):
    seen = features(1, RNG)
    policy = load_policy(learner.weights(), CONTRACT)
    before = policy.act(seen)
    learner.train(20)
    np.testing.assert_array_equal(policy.act(seen), before)
    assert not np.array_equal(load_policy(learner.weights(), CONTRACT).act(seen), before)


def test_the_policy_file_gives_the_weights_back_with_the_gate_closed(learner, tmp_path):
    weights, path = learner.weights(), tmp_path / "policy.safetensors"
    assert read_policy_file(path, CONTRACT) is None
    write_policy_file(path, weights)
    again = read_policy_file(path, CONTRACT)
    assert (again.version, again.data, again.gate_open) == (weights.version, weights.data, False)
    load_policy(again, CONTRACT)
    with pytest.raises(WeightsError, match="contract is 'c0ffee'; expected 'other'"):
        read_policy_file(path, "other")
    path.write_bytes(b"torn")
    with pytest.raises(WeightsError, match="policy.safetensors: "):
        read_policy_file(path, CONTRACT)


def test_a_file_says_whether_its_actor_has_learned(learner, tmp_path):
    fresh = Learner(small_config(bc_pretrain_updates=20), DIMS, CONTRACT, 5.0)
    assert is_untrained(fresh.weights())
    fresh.add(rows(16))
    fresh.train(20)
    assert is_untrained(fresh.weights()), "a copy of the reference has learned nothing"
    fresh.train(10)
    assert not is_untrained(fresh.weights()) and not is_untrained(learner.weights())
    write_policy_file(tmp_path / "policy.safetensors", learner.weights())
    heir = Learner(small_config(), DIMS, CONTRACT, 5.0)
    heir.start_from(tmp_path / "policy.safetensors")
    assert not is_untrained(heir.weights())
    older = json.loads(json.dumps(read_about(learner.weights().data)))
    del older["trained"]
    data = save(load(learner.weights().data), {"policy": json.dumps(older)})
    assert not is_untrained(resealed(learner.weights(), data)), "files that do not say so pass for trained"
