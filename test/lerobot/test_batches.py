"""LeRobot's keys to our rows: nothing falls back silently (method.md C.1 no. 1 to 4, C.4 no. 32 to 36)."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch
from lerobot_batches import KINDS, ROWS, A, C, D, P, acting, algorithm, batch, config
from synthetic import DIMS, rows, small_config

from rlt_ros.lerobot import observations
from rlt_ros.lerobot.batches import rows_of
from rlt_ros.lerobot.fields import BatchError
from rlt_ros.lerobot.policy import RLTPolicy
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.replay import Replay
from rlt_ros.vla.contract import TokenKind


@pytest.fixture(scope="module")
def policy():
    return RLTPolicy(config())


def read(policy, given):
    return rows_of(given, policy.state(given["state"]), policy.state(given["next_state"]), policy.config)


def info(given, **changes):
    """The batch with other complementary information; None leaves a key out."""
    merged = given["complementary_info"] | changes
    return given | {"complementary_info": {name: value for name, value in merged.items() if value is not None}}


def same(one, other):
    return all(torch.equal(getattr(one, f.name).nan_to_num(), getattr(other, f.name).nan_to_num()) for f in fields(one))


def test_a_batch_of_our_own_replay_in_lerobots_keys_is_the_same_batch_and_the_same_update():
    settings = small_config(batch=ROWS)
    replay = Replay(settings, DIMS)
    for row in rows(64):
        replay.add(row)
    ours = replay.sample(ROWS, torch.Generator().manual_seed(0))
    z = config().token.dim
    theirs = {
        "state": {"observation.rlt_state": ours.state[:, :z], "observation.state": ours.state[:, z:]},
        "next_state": {"observation.rlt_state": ours.next_state[:, :z], "observation.state": ours.next_state[:, z:]},
        "action": ours.action.flatten(1),
        "reward": ours.rewards,
        "done": ours.terminated,
        "complementary_info": {
            "reference_action": ours.reference.flatten(1), "next_reference_action": ours.next_reference.flatten(1),
            "valid_horizon": ours.horizon, "is_intervention": ours.human,
        },
    }  # fmt: skip
    made = config(**{name: getattr(settings, name) for name in ("chunk", "hidden", "batch", "seed")})
    made = type(made)(**vars(made) | {"proprio": DIMS.proprio})
    read_back = read(RLTPolicy(made), theirs)
    known = {"mc_return", "row"}
    for field in fields(ours):
        assert field.name in known or torch.equal(getattr(read_back, field.name), getattr(ours, field.name)), field.name
    first, second = Agent(settings, DIMS), Agent(settings, DIMS)
    for _ in range(4):
        assert torch.equal(first.update(ours).critic_loss, second.update(read_back).critic_loss)
    assert torch.equal(first.actor.weights[0], second.actor.weights[0])


@pytest.mark.parametrize("key", ["reference_action", "next_reference_action"])
def test_a_missing_reference_is_an_error_and_no_fallback(policy, key):
    with pytest.raises(BatchError, match=f"complementary_info.{key} is missing"):
        read(policy, info(batch(), **{key: None}))


@pytest.mark.parametrize("key", ["state", "next_state", "action", "reward", "done"])
def test_every_other_needed_key_is_named_when_it_is_missing(key):
    given = batch()
    del given[key]
    with pytest.raises(BatchError, match=f"^{key} is missing; there are"):
        algorithm().update(iter([given]))


@pytest.mark.parametrize("key", ["observation.vla_embeddings", "observation.state"])
def test_a_missing_observation_is_named(policy, key):
    given = batch()
    del given["next_state"][key]
    with pytest.raises(BatchError, match=f"{key} is missing"):
        read(policy, given)


def test_the_target_sees_the_next_reference_and_the_actor_the_current_one(policy):
    given = batch()
    made = read(policy, given)
    chunks = given["complementary_info"]
    assert torch.equal(made.reference, chunks["reference_action"])
    assert torch.equal(made.next_reference[1:], chunks["next_reference_action"][1:])


def test_what_a_buffer_never_wrote_behind_a_terminal_row_has_no_effect(policy):
    given, base = batch(), read(policy, batch())
    for tensor in given["next_state"].values():
        tensor[0] = torch.nan
    given["complementary_info"]["next_reference_action"][0] = 1e30
    made = read(policy, given)
    assert same(made, base)
    assert torch.equal(made.next_state[0], made.state[0]) and torch.equal(made.next_reference[0], made.reference[0])


def test_with_a_bootstrap_always_what_follows_an_outcome_is_read():
    always, given = RLTPolicy(config(bootstrap_type="always")), batch()
    made = read(always, given)
    assert torch.equal(made.next_reference, given["complementary_info"]["next_reference_action"])
    assert torch.equal(made.next_state, always.state(given["next_state"]))


def test_rewards_per_step_are_kept_and_a_scalar_is_earned_at_the_last_executed_step(policy):
    per_step = batch()
    assert read(policy, per_step).rewards[0].tolist() == [0.0, 1.0, 0.0, 0.0]
    scalar = torch.tensor([1.0, 0.5] + [0.25] * (ROWS - 2))
    for shape in ((ROWS,), (ROWS, 1)):
        rewards = read(policy, batch() | {"reward": scalar.reshape(shape)}).rewards
        assert rewards[0].tolist() == [0.0, 1.0, 0.0, 0.0]
        assert rewards[1].tolist() == [0.0, 0.0, 0.5, 0.0]
        assert rewards[2].tolist() == [0.0, 0.0, 0.0, 0.25]


def test_rewards_in_the_complementary_information_take_the_place_of_a_buffers_single_number(policy):
    given = batch()
    steps = given["reward"]
    assert same(read(policy, info(given | {"reward": torch.ones(ROWS)}, rewards=steps)), read(policy, batch()))
    with pytest.raises(BatchError, match=r"rewards has shape \(8,\); expected \(8, 4\)"):
        read(policy, info(given, rewards=torch.ones(ROWS)))


def test_beyond_the_horizon_nothing_counts(policy):
    given = batch()
    given["action"][0, 2:] = torch.nan
    given["reward"][0, 2:] = 5.0
    given["complementary_info"]["is_intervention"][0] = True
    made = read(policy, given)
    assert made.valid[0].tolist() == [1.0, 1.0, 0.0, 0.0] and made.horizon[0] == 2
    assert not made.action[0, 2:].any() and not made.rewards[0, 2:].any()
    assert made.human[0].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_without_a_horizon_the_window_is_whole(policy):
    made = read(policy, info(batch(), valid_horizon=None))
    assert (made.horizon == C).all() and (made.valid == 1).all()


@pytest.mark.parametrize("wrong", [0, C + 1, 1.5])
def test_an_impossible_horizon_is_refused(policy, wrong):
    with pytest.raises(BatchError, match=rf"valid_horizon is \[.*{wrong}.*\]; expected whole numbers in 1..{C}"):
        read(policy, info(batch(), valid_horizon=torch.tensor([wrong] + [C] * (ROWS - 1))))


def test_done_ends_the_bootstrap_and_truncated_does_not(policy):
    assert read(policy, batch()).terminated.tolist() == [1.0] + [0.0] * (ROWS - 1)


def test_rows_that_are_both_done_and_truncated_are_refused(policy):
    with pytest.raises(BatchError, match="done and truncated both hold in 1 rows"):
        read(policy, batch() | {"truncated": torch.tensor([1.0] + [0.0] * (ROWS - 1))})


def test_a_human_may_be_named_for_the_chunk_for_each_step_or_for_each_number(policy):
    whole = torch.tensor([1.0] + [0.0] * (ROWS - 1))
    steps = torch.zeros(ROWS, C, dtype=torch.bool)
    steps[0] = True
    numbers = torch.zeros(ROWS, C, A)
    numbers[0, :, 1] = 1.0
    expected = read(policy, info(batch(), is_intervention=steps))
    for given in (whole, whole[:, None], numbers, numbers.flatten(1)):
        assert same(read(policy, info(batch(), is_intervention=given)), expected)
    assert expected.human.sum() == 2


def test_without_a_flag_no_human_drove(policy):
    assert not read(policy, info(batch(), is_intervention=None)).human.any()


def test_flat_chunks_longer_references_and_dotted_keys_are_understood(policy):
    given, base = batch(), read(policy, batch())
    chunks = given["complementary_info"]
    longer = {
        name: torch.cat([chunks[name], torch.full((ROWS, 2, A), 7.0)], dim=1).flatten(1)
        for name in ("reference_action", "next_reference_action")
    }
    assert same(read(policy, info(given, **longer) | {"action": given["action"].flatten(1)}), base)
    dotted = {f"complementary_info.{name}": value for name, value in given.pop("complementary_info").items()}
    assert same(read(policy, given | dotted), base)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"action": torch.zeros(ROWS, C + 1, A)}, rf"action has shape \(8, 5, 3\); expected \(8, {C}, {A}\)"),
        ({"action": torch.zeros(ROWS, 7)}, rf"action has shape \(8, 7\); expected \(B, steps, {A}\)"),
        ({"reward": torch.zeros(ROWS, 3)}, rf"reward has shape \(8, 3\); expected \(8, {C}\) or \(8,\)"),
        ({"done": torch.zeros(3)}, r"done has shape \(3,\); expected \(8,\)"),
        ({"reward": torch.full((ROWS,), torch.nan)}, r"reward\[0, 1\] is nan; expected a finite number"),
    ],
)
def test_a_wrong_shape_or_value_names_key_and_both_sides(policy, change, error):
    with pytest.raises(BatchError, match=error):
        read(policy, batch() | change)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"reference_action": torch.zeros(ROWS, C - 1, A)}, r"reference_action has shape \(8, 3, 3\); expected \(B, H"),
        ({"next_reference_action": torch.full((ROWS, C, A), 1.5)}, "next_reference_action reaches 1.5; expected"),
        ({"reference_action": torch.full((ROWS, C, A), torch.nan)}, r"reference_action\[0, 0, 0\] is nan"),
        ({"is_intervention": torch.zeros(ROWS, 3)}, r"is_intervention has shape \(8, 3\); expected \(8, 4\)"),
    ],
)
def test_wrong_complementary_information_names_key_and_both_sides(policy, change, error):
    with pytest.raises(BatchError, match=error):
        read(policy, info(batch(), **change))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"vla_embeddings": torch.zeros(ROWS, len(KINDS), D + 1)}, rf"\(8, 6, 7\); expected \(B, M, {D}\)"),
        ({"vla_embeddings": torch.zeros(ROWS, 5, D)}, "has 5 tokens without observation.vla_kinds; configured: 6"),
        ({"vla_mask": torch.ones(ROWS, 3)}, r"vla_mask has shape \(8, 3\); expected \(8, 6\)"),
        ({"vla_kinds": torch.zeros(3)}, r"vla_kinds has shape \(1, 3\); expected \(6,\)"),
        ({"vla_kinds": torch.arange(ROWS)[:, None].expand(ROWS, 6) % 2}, "vla_kinds differ between rows"),
        ({"state": torch.zeros(ROWS, P + 1)}, rf"observation.state has shape \(8, 6\); expected \(8, {P}\)"),
        ({"rlt_state": torch.zeros(ROWS, 3)}, r"rlt_state has shape \(8, 3\); expected \(8, 4\)"),
    ],
)
def test_a_wrong_observation_names_key_and_both_sides(policy, change, error):
    given = acting() | {f"observation.{name}": value for name, value in change.items()}
    with pytest.raises(BatchError, match=error):
        policy.predict_action_chunk(given)


def test_masked_tokens_change_nothing_and_instruction_tokens_are_dropped_by_kind(policy):
    given = acting()
    mask = torch.ones(ROWS, len(KINDS))
    mask[:, 2] = 0.0
    masked = policy.state(given | {"observation.vla_mask": mask})
    embeddings = given["observation.vla_embeddings"].clone()
    embeddings[:, 2] = torch.nan  # padding
    embeddings[:, 4] = 9.0  # the instruction, by the configuration's kinds
    other = given | {"observation.vla_embeddings": embeddings, "observation.vla_mask": mask}
    assert torch.equal(policy.state(other), masked)
    kinds = torch.tensor([[float(TokenKind[kind]) for kind in KINDS]] * ROWS)
    assert torch.equal(policy.state(other | {"observation.vla_kinds": kinds}), masked)
    assert not torch.equal(policy.state(other | {"observation.vla_kinds": kinds.flip(1)}), masked)


def test_a_stored_token_takes_the_place_of_the_embeddings(policy):
    given = acting()
    z = policy.state(given)[:, : policy.config.token.dim]
    compact = {"observation.rlt_state": z, "observation.state": given["observation.state"]}
    assert torch.equal(policy.state(compact), policy.state(given))
    assert observations.stored_z(given, policy.config) is None
