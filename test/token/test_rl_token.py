"""The RL token (RLT paper, Eqs. 1 and 2; method.md C.6 no. 42, 43; field reports B18, B19)."""

from dataclasses import replace

import pytest
import torch

from rlt_ros.token.config import TokenConfig
from rlt_ros.token.model import RLToken, masked_error
from rlt_ros.vla.contract import TokenKind

IMAGE, WORD, STATE = TokenKind.IMAGE, TokenKind.INSTRUCTION, TokenKind.STATE
KINDS = (IMAGE,) * 6 + (WORD,) * 3 + (STATE,)
SMALL = TokenConfig(dim=4, width=32, heads=2, layers=1)


@pytest.fixture
def token():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return RLToken(SMALL, 12, KINDS).eval()


def inputs(n=5, seed=1):
    tokens = torch.randn(n, len(KINDS), 12, generator=torch.Generator().manual_seed(seed))
    return tokens, torch.ones(n, len(KINDS), dtype=torch.bool)


def test_z_has_the_configured_size(token):
    assert token.encode(*inputs(), KINDS).shape == (5, 4)


def test_a_wide_token_works_too():
    wide = RLToken(TokenConfig(dim=2048, width=32, heads=2, layers=1), 12, KINDS)
    assert wide.encode(*inputs(), KINDS).shape == (5, 2048)


def test_instruction_tokens_are_dropped_by_kind(token):
    tokens, mask = inputs()
    other = tokens.clone()
    other[:, 6:9] = 100.0
    assert torch.equal(token.encode(tokens, mask, KINDS), token.encode(other, mask, KINDS))
    other = tokens.clone()
    other[:, 9] += 1.0
    assert not torch.equal(token.encode(tokens, mask, KINDS), token.encode(other, mask, KINDS))


@pytest.mark.parametrize("masked", [[0], [2, 3], [5, 9]])
def test_content_of_padding_changes_neither_z_nor_loss(token, masked):
    tokens, mask = inputs()
    mask[:, masked] = False
    other = tokens.clone()
    other[:, masked] = torch.inf
    assert torch.equal(token.encode(tokens, mask, KINDS), token.encode(other, mask, KINDS))
    losses = [token.loss(x, mask, KINDS, torch.Generator().manual_seed(1)) for x in (tokens, other)]
    assert torch.equal(losses[0].rlt_loss, losses[1].rlt_loss)
    assert torch.isfinite(losses[1].rlt_loss)


def test_z_stays_visible_when_the_first_token_is_padding(token):
    tokens, mask = inputs()
    mask[:, 0] = False
    z = token.encode(tokens, mask, KINDS)
    assert torch.isfinite(z).all() and z.std(dim=0).min() > 0


def test_z_of_a_row_does_not_depend_on_the_others_padding(token):
    tokens, mask = inputs()
    together = token.encode(tokens, mask, KINDS)
    mask[1, 3:5] = False
    torch.testing.assert_close(token.encode(tokens, mask, KINDS)[0], together[0])


def test_the_decoder_is_causal(token):
    tokens, mask = token.select(*inputs(), KINDS)
    z = torch.randn(5, 4)
    base = token.decode(z, tokens, mask)
    for position in range(tokens.shape[1]):
        changed = tokens.clone()
        changed[:, position] += 10.0
        moved = (token.decode(z, changed, mask) - base).abs().amax(dim=(0, 2)) > 1e-6
        assert not moved[: position + 1].any()
        assert position + 1 == len(moved) or moved[position + 1 :].all()


def test_without_context_only_z_counts(token):
    tokens, mask = token.select(*inputs(), KINDS)
    z, none = torch.randn(5, 4), torch.zeros_like(mask)
    assert torch.equal(token.decode(z, tokens, none), token.decode(z, tokens * -3.0, none))
    assert not torch.equal(token.decode(z, tokens, none), token.decode(z + 1.0, tokens, none))


def test_targets_and_context_are_detached(token):
    tokens, mask = inputs()
    tokens.requires_grad_(True)
    token.loss(tokens, mask, KINDS, torch.Generator().manual_seed(1)).rlt_loss.backward()
    assert tokens.grad is None


def test_the_loss_is_the_sum_over_tokens_of_squared_distances():
    predicted, target = torch.zeros(2, 3, 4), torch.ones(2, 3, 4)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    loss = masked_error(predicted, target, mask)
    assert float(loss.rlt_loss) == pytest.approx((2 * 4 + 3 * 4) / 2)
    assert float(loss.per_value) == pytest.approx(1.0)


def test_a_longer_or_wider_prefix_is_refused(token):
    longer = torch.randn(1, 11, 12)
    with pytest.raises(ValueError, match="8 tokens of width 12.* 7 of width 12"):
        token.encode(longer, torch.ones(1, 11, dtype=torch.bool), (IMAGE, *KINDS))
    with pytest.raises(ValueError, match="width 13"):
        token.encode(torch.randn(1, 10, 13), torch.ones(1, 10, dtype=torch.bool), KINDS)


def test_standardised_z_has_mean_zero_and_deviation_one_and_decodes_alike(token):
    tokens, mask = inputs(200)
    before = token.alone(tokens, mask, KINDS).per_value
    token.standardise(token.encode(tokens, mask, KINDS))
    z = token.encode(tokens, mask, KINDS)
    torch.testing.assert_close(z.mean(dim=0), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(z.std(dim=0), torch.ones(4), atol=1e-4, rtol=0)
    torch.testing.assert_close(token.alone(tokens, mask, KINDS).per_value, before)
    token.standardise(z)
    torch.testing.assert_close(token.encode(tokens, mask, KINDS), z, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("values", [{"context_dropout": 1.5}, {"width": 33}])
def test_impossible_settings_are_refused(values):
    with pytest.raises(ValueError):
        TokenConfig(**values)


def test_image_only_leaves_the_state_out_too():
    seeing = RLToken(replace(SMALL, image_only=True), 12, KINDS).eval()
    tokens, mask = inputs()
    other = tokens.clone()
    other[:, 6:] = 100.0
    assert torch.equal(seeing.encode(tokens, mask, KINDS), seeing.encode(other, mask, KINDS))
    assert seeing.select(tokens, mask, KINDS)[0].shape == (5, 6, 12)


def test_without_the_mask_padding_counts_as_any_token():
    tokens, mask = inputs()
    mask[:, 2] = False
    other = tokens.clone()
    other[:, 2] += 1.0
    plain = RLToken(replace(SMALL, use_mask=False), 12, KINDS).eval()
    assert not torch.equal(plain.encode(tokens, mask, KINDS), plain.encode(other, mask, KINDS))
    assert torch.equal(plain.encode(tokens, mask, KINDS), plain.encode(tokens, torch.ones_like(mask), KINDS))


def test_the_longest_prefix_can_be_set_and_a_longer_one_is_refused_with_both_numbers():
    roomy = RLToken(replace(SMALL, prefix_length=9), 12, KINDS).eval()
    longer = torch.randn(2, 12, 12)
    for count in (7, 9):
        kinds = (IMAGE,) * (count - 1) + (STATE,)
        assert roomy.encode(longer[:, :count], torch.ones(2, count, dtype=torch.bool), kinds).shape == (2, 4)
    with pytest.raises(ValueError, match="10 tokens of width 12.* 9 of width 12"):
        roomy.encode(longer[:, :10], torch.ones(2, 10, dtype=torch.bool), (IMAGE,) * 10)
    with pytest.raises(ValueError, match="prefix of 7 tokens; prefix_length is 6"):
        RLToken(replace(SMALL, prefix_length=6), 12, KINDS)


def test_padding_at_the_end_of_a_shorter_prefix_is_like_its_absence():
    roomy = RLToken(replace(SMALL, prefix_length=9), 12, KINDS).eval()
    tokens, mask = torch.randn(3, 9, 12), torch.ones(3, 9, dtype=torch.bool)
    mask[:, 6:] = False
    short = roomy.encode(tokens[:, :6], mask[:, :6], (IMAGE,) * 6)
    torch.testing.assert_close(roomy.encode(tokens, mask, (IMAGE,) * 9), short)


def test_without_a_readout_there_are_no_weights_of_it():
    lean = RLToken(replace(SMALL, narrow=0), 12, KINDS)
    assert not {name.split(".")[0] for name in lean.state_dict()} & {"narrow", "gather", "direct", "spread"}
    assert lean.encode(*inputs(), KINDS).shape == (5, 4)
