"""Saved and loaded: the same action and the same next update (method.md C.7 no. 52, 53)."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from lerobot_batches import acting, algorithm, batches, config
from stage1_example import CONFIG, small_stage1

from rlt_ros.data.contract import ContractMismatch
from rlt_ros.lerobot.algorithm import RLTAlgorithm
from rlt_ros.lerobot.policy import RLTPolicy
from rlt_ros.rl.config import AgentConfig
from rlt_ros.strict import ConfigError
from rlt_ros.token.checkpoint import save_stage1


def trained(offline=4, updates=3, **agent) -> RLTAlgorithm:
    made, given = algorithm(**agent), batches()
    for _ in range(offline):
        made.offline_update(given)
    for _ in range(updates):
        made.update(given)
    return made


def act(made, evaluation=False):
    return made.policy.predict_action_chunk(acting(), evaluation)


def assert_same_future(one, other):
    """Same actions now; same statistics and same actions after further steps on the same batches."""
    for evaluation in (False, True):
        assert torch.equal(act(one, evaluation), act(other, evaluation))
    first, second = batches(70), batches(70)
    for _ in range(3):
        assert one.update(first) == other.update(second)
    assert torch.equal(act(one), act(other))
    assert (one.optimization_step, one.agent.critic_updates) == (other.optimization_step, other.agent.critic_updates)


def test_saved_and_loaded_acts_and_learns_on_as_if_nothing_had_happened(tmp_path):
    made = trained()
    made.save_pretrained(tmp_path / "algorithm")
    assert {"config.json", "model.safetensors"} <= {path.name for path in (tmp_path / "algorithm").iterdir()}
    loaded = RLTAlgorithm.from_pretrained(tmp_path / "algorithm")
    assert loaded.config == made.config
    assert_same_future(made, loaded)


@pytest.mark.parametrize("use_z", [True, False])
def test_without_z_the_policy_acts_the_same_whatever_the_vla_saw(use_z):
    made, other = (
        trained(use_z=use_z),
        acting() | {"observation.vla_embeddings": acting(5)["observation.vla_embeddings"]},
    )
    assert torch.equal(act(made), made.policy.predict_action_chunk(other)) is not use_z


def test_a_given_policy_of_other_weights_takes_over_the_saved_ones(tmp_path):
    made = trained()
    made.save_pretrained(tmp_path)
    policy = RLTPolicy(made.config)
    with torch.no_grad():
        for tensor in policy.parameters():
            tensor.add_(0.5)
    loaded = RLTAlgorithm.from_pretrained(tmp_path, policy=policy)
    assert loaded.policy is policy
    assert_same_future(made, loaded)


def test_a_policy_that_can_do_something_keeps_it_when_an_algorithm_takes_it_up():
    policy = RLTPolicy(config())
    with torch.no_grad():
        for actor in (policy.actor, policy.ema):
            actor.biases[-1].add_(0.7 if actor is policy.actor else 0.3)
    before = [policy.predict_action_chunk(acting(), evaluation) for evaluation in (False, True)]
    RLTAlgorithm(policy=policy, config=policy.config)
    after = [policy.predict_action_chunk(acting(), evaluation) for evaluation in (False, True)]
    assert all(torch.equal(a, b) for a, b in zip(before, after)) and not torch.equal(*after)


def test_the_phase_survives_and_entering_it_again_keeps_what_was_learned(tmp_path):
    made = trained()
    made.save_pretrained(tmp_path)
    loaded = RLTAlgorithm.from_pretrained(tmp_path)
    assert loaded.online and loaded.optimization_step == 7
    loaded.transition_to_online()
    loaded.make_optimizers_and_scheduler()
    assert_same_future(made, loaded)


def test_saved_in_the_middle_of_the_offline_phase_it_goes_on_there(tmp_path):
    made = trained(offline=5, updates=0)
    made.save_pretrained(tmp_path)
    loaded = RLTAlgorithm.from_pretrained(tmp_path)
    assert not loaded.online and all(p.requires_grad for p in loaded.policy.token.parameters())
    first, second = batches(30), batches(30)
    for _ in range(5):
        assert made.offline_update(first) == loaded.offline_update(second)
    for each in (made, loaded):
        each.transition_to_online()
    assert_same_future(made, loaded)


def test_references_to_optimisers_and_parameters_survive_loading():
    saved = {name: tensor.clone() for name, tensor in trained(updates=6).state_dict().items()}
    made = trained(offline=0, updates=1)
    optimizers = made.make_optimizers_and_scheduler()
    held = {name: [p for group in o.param_groups for p in group["params"]] for name, o in optimizers.items()}
    actor = made.policy.actor
    made.load_state_dict(saved)
    assert made.policy.actor is actor and made.agent.actor is actor
    for name, optimizer in made.get_optimizers().items():
        assert optimizer is optimizers[name]
        now = [p for group in optimizer.param_groups for p in group["params"]]
        assert all(p is q and p.data_ptr() == q.data_ptr() for p, q in zip(now, held[name]))
    before = held["critic"][0].detach().clone()
    optimizers["critic"].step()
    assert not torch.equal(held["critic"][0], before)
    storage = held["critic"][0].untyped_storage().data_ptr()
    assert all(p.untyped_storage().data_ptr() == storage for p in made.agent.critic.parameters())


def test_two_algorithms_with_one_state_share_nothing():
    made, other, third = trained(), algorithm(), algorithm()
    other.load_state_dict(made.state_dict())
    third.load_state_dict({name: tensor.clone() for name, tensor in made.state_dict().items()})
    other.update(batches(40))
    assert_same_future(made, third)


def test_lerobots_own_resume_order_optimisers_first_then_tensors_then_the_step(tmp_path):
    made = trained()
    states = {name: optimizer.state_dict() for name, optimizer in made.get_optimizers().items()}
    made.save_pretrained(tmp_path)
    resumed = algorithm()
    for name, optimizer in resumed.make_optimizers_and_scheduler().items():
        optimizer.load_state_dict(states[name])
    resumed.load_state_dict(RLTAlgorithm.from_pretrained(tmp_path).state_dict(), device="cpu")
    resumed.optimization_step = made.optimization_step
    assert_same_future(made, resumed)


def test_a_repository_id_is_looked_up_in_the_hubs_cache(tmp_path):
    made = trained()
    snapshot = tmp_path / "models--lab--peg" / "snapshots" / ("a" * 40)
    made.save_pretrained(snapshot)
    reference = tmp_path / "models--lab--peg" / "refs" / "main"
    reference.parent.mkdir(parents=True)
    reference.write_text("a" * 40)
    where = {"cache_dir": tmp_path, "local_files_only": True}
    assert_same_future(made, RLTAlgorithm.from_pretrained("lab/peg", policy=RLTPolicy(made.config), **where))
    with pytest.raises(FileNotFoundError, match="lab/other: "):
        RLTAlgorithm.from_pretrained("lab/other", **where)


def test_another_configuration_than_the_saved_one_may_be_given(tmp_path):
    trained().save_pretrained(tmp_path)
    loaded = RLTAlgorithm.from_pretrained(tmp_path, config=config(gamma=0.9))
    assert loaded.agent.config.gamma == 0.9
    with pytest.raises(ContractMismatch, match="agent.gamma: 0.99 here, 0.9 there"):
        RLTAlgorithm.from_pretrained(tmp_path, policy=RLTPolicy(config()), config=config(gamma=0.9))
    with pytest.raises(ValueError, match=r"actor.weights.0 has shape \(16, .*\); expected \(8, "):
        RLTAlgorithm.from_pretrained(tmp_path, config=config(hidden=8))


def test_a_damaged_directory_is_refused(tmp_path):
    whole = tmp_path / "whole"
    trained().save_pretrained(whole)
    for name in ("config.json", "model.safetensors"):
        part = shutil.copytree(whole, tmp_path / name)
        (part / name).unlink()
        with pytest.raises(FileNotFoundError, match=f"{part}: {name} is missing"):
            RLTAlgorithm.from_pretrained(part)
    content = json.loads((whole / "config.json").read_text())
    for wrong, error in (({"gamma": 1}, "unknown key 'gamma'"), ({"type": "sac"}, "type is 'sac'; expected 'rlt'")):
        (whole / "config.json").write_text(json.dumps(content | wrong))
        with pytest.raises(ConfigError, match=error):
            RLTAlgorithm.from_pretrained(whole)


@pytest.mark.parametrize(
    ("key", "error"),
    [("token.e_rl", "missing .'e_rl'"), ("agent.critic.head_bias", "head_bias"), ("counters.online", "counters are")],
)
def test_a_missing_tensor_is_named(key, error):
    state = trained(updates=1).state_dict()
    with pytest.raises(ValueError, match=error):
        algorithm().load_state_dict({name: tensor for name, tensor in state.items() if name != key})


def test_an_unknown_tensor_is_named():
    state = algorithm().state_dict()
    with pytest.raises(ValueError, match="tensor log_alpha belongs to none of"):
        algorithm().load_state_dict(state | {"log_alpha": torch.zeros(1)})


def test_an_acting_process_gets_actor_average_and_encoder_and_acts_alike():
    made, elsewhere = trained(), algorithm(seed=9)
    with torch.no_grad():
        for name, tensor in elsewhere.policy.token.named_parameters():
            tensor.add_(0.1 * (1 + len(name) % 3))
    assert not torch.equal(act(made), act(elsewhere))
    elsewhere.load_weights(made.get_weights())
    for evaluation in (False, True):
        assert torch.equal(act(made, evaluation), act(elsewhere, evaluation))
    assert not any("decoder" in name or "head" in name for name in made.get_weights()["rl_token_encoder"])


def test_pushed_weights_are_copies():
    made = trained()
    weights = made.get_weights()
    before = weights["actor"]["weights.0"].clone()
    made.update(batches(9))
    assert torch.equal(weights["actor"]["weights.0"], before)
    assert all(t.untyped_storage().nbytes() == t.nbytes for part in weights.values() for t in part.values())


def test_incomplete_or_strange_weights_are_refused():
    made = algorithm()
    weights = made.get_weights()
    with pytest.raises(ValueError, match="weights: missing .'rl_token_encoder'., unknown .'policy'."):
        made.load_weights({"policy": {}, "actor": weights["actor"], "ema": weights["ema"]})
    del weights["rl_token_encoder"]["e_rl"]
    with pytest.raises(ValueError, match="rl_token_encoder: missing .'e_rl'."):
        made.load_weights(weights)


def test_the_token_of_a_stage_1_checkpoint_is_taken_over(tmp_path):
    stage1 = small_stage1()
    save_stage1(tmp_path / "stage1", stage1, {})
    agent = AgentConfig(hidden=16, batch=8)
    policy = RLTPolicy.from_stage1(tmp_path / "stage1", agent)
    made = RLTAlgorithm(policy=policy, config=policy.config)
    tokens = torch.randn(3, len(stage1.vla.kinds), stage1.vla.width, generator=torch.Generator().manual_seed(0))
    seen = {"observation.vla_embeddings": tokens, "observation.state": torch.zeros(3, 19)}
    made.transition_to_online()
    z = stage1.token.encode(tokens, torch.ones(tokens.shape[:2], dtype=torch.bool), stage1.vla.kinds)
    assert torch.equal(made.policy.state(seen)[:, : CONFIG.token.dim], z)
    with pytest.raises(ValueError, match="agent.chunk is 5; .* was made for 10"):
        RLTPolicy.from_stage1(tmp_path / "stage1", AgentConfig(chunk=5))


def test_passed_through_dimensions_are_the_references():
    chunk = act(trained())
    reference = acting()["observation.reference_action"]
    assert torch.equal(chunk[:, :, 2], reference[:, :, 2])
    assert not torch.equal(chunk[:, :, :2], reference[:, :, :2])
