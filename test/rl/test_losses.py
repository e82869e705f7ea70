"""Values of the formulas, computed by hand."""

from __future__ import annotations

import pytest
import torch

from rlt_ros.rl import losses

GAMMA = 0.9


def target(rewards, horizon, terminated, next_value):
    """td_target of one row with C = 3."""
    valid = (torch.arange(3) < horizon).float()[None]
    values = (torch.tensor([v], dtype=torch.float32) for v in (horizon, terminated, next_value))
    return losses.td_target(torch.tensor([rewards]), valid, *values, GAMMA).item()


@pytest.mark.parametrize(
    ("rewards", "horizon", "terminated", "expected"),
    [
        ([0.0, 0.0, 0.0], 3, 0, GAMMA**3 * 0.5),  # bootstraps with gamma^C
        ([0.0, 0.0, 0.0], 2, 0, GAMMA**2 * 0.5),  # truncated after two steps: gamma^2, not gamma^C, and not nothing
        ([0.0, 0.0, 1.0], 3, 1, GAMMA**2),  # a reward in the last step counts gamma^(C-1)
        ([0.0, 1.0, 0.0], 2, 1, GAMMA),  # terminated: no bootstrap
        ([0.0, 0.0, 0.0], 2, 1, 0.0),  # a failure is worth nothing
        ([0.0, 1.0, 7.0], 2, 1, GAMMA),  # what lies beyond the horizon means nothing
        ([1.0, 1.0, 1.0], 3, 0, 1 + GAMMA + GAMMA**2 + GAMMA**3 * 0.5),  # discounted inside the chunk
    ],
)
def test_target_of_one_window(rewards, horizon, terminated, expected):
    assert target(rewards, horizon, terminated, 0.5) == pytest.approx(expected)


def test_two_state_chain_has_its_closed_form_as_fixed_point():
    """A goes to B in 3 steps without reward, B succeeds in its second step: V(B) = gamma, V(A) = gamma^4."""
    value_b = target([0.0, 1.0, 0.0], 2, 1, 123.0)
    assert target([0.0, 0.0, 0.0], 3, 0, value_b) == pytest.approx(GAMMA**4)


def test_three_state_chain_with_a_truncated_middle():
    """A -3-> B, B -1 step, truncated-> C, C succeeds in its first step: V(A) = gamma^4."""
    value_c = target([1.0, 0.0, 0.0], 1, 1, 0.0)
    value_b = target([0.0, 0.0, 0.0], 1, 0, value_c)
    assert (value_c, value_b) == (pytest.approx(1.0), pytest.approx(GAMMA))
    assert target([0.0, 0.0, 0.0], 3, 0, value_b) == pytest.approx(GAMMA**4)


def test_bc_is_summed_over_the_chunk():
    chunk, wanted = torch.zeros(2, 10, 7), torch.full((2, 10, 7), 0.1)
    assert losses.bc_loss(chunk, wanted).item() == pytest.approx(70 * 0.01)  # the mean would be 0.01


def test_bc_target_follows_the_human_step_by_step():
    reference, action = torch.zeros(1, 4, 2), torch.ones(1, 4, 2)
    human = torch.tensor([[0.0, 1.0, 1.0, 0.0]])
    assert losses.bc_target(reference, action, human)[0, :, 0].tolist() == [0.0, 1.0, 1.0, 0.0]


def test_smoothing_noise_is_clipped_and_reproducible():
    like = torch.zeros(1000)
    noise = losses.smoothing_noise(like, 0.1, 0.2, torch.Generator().manual_seed(3))
    again = losses.smoothing_noise(like, 0.1, 0.2, torch.Generator().manual_seed(3))
    assert noise.abs().max().item() == pytest.approx(0.2)
    assert 0.08 < noise.std().item() < 0.11
    assert torch.equal(noise, again)


def test_a_short_window_goes_on_with_the_other_chunk():
    executed, other = torch.ones(1, 3, 2), torch.full((1, 3, 2), 7.0)
    whole = losses.completed(executed, torch.tensor([[1.0, 1.0, 0.0]]), other)
    assert whole[0, :, 0].tolist() == [1.0, 1.0, 7.0]


def test_dropout_takes_whole_rows_and_leaves_the_argument_alone():
    reference = torch.ones(1000, 4, 2)
    seen = losses.dropped(reference, losses.kept_rows(reference, 0.5, torch.Generator().manual_seed(0)))
    rows = seen.flatten(1)
    assert ((rows == 0).all(1) | (rows == 1).all(1)).all()
    assert 0.45 < (rows[:, 0] == 0).float().mean() < 0.55
    assert (reference == 1).all()


def test_every_member_learns_as_fast_as_one_alone():
    target_values = torch.zeros(4)
    alone = losses.critic_loss(torch.ones(1, 4), target_values)
    assert losses.critic_loss(torch.ones(3, 4), target_values) == 3 * alone
