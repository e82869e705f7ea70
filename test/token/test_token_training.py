"""Training the token: z must carry the tokens, and the figures must say so (method.md C.6 no. 42; report B18)."""

from dataclasses import replace

import pytest
import torch

from rlt_ros.token.config import FitConfig, TokenConfig
from rlt_ros.token.embeddings import InMemory
from rlt_ros.token.model import RLToken
from rlt_ros.token.train_token import encode_all, reconstruction, train_token
from rlt_ros.vla.contract import TokenKind

KINDS = (TokenKind.IMAGE,) * 6 + (TokenKind.INSTRUCTION,) + (TokenKind.STATE,)
TOKEN, FIT = TokenConfig(dim=8, width=32, heads=2, layers=1), FitConfig(steps=300, batch=32, rate=3e-3)


def world(n=300):
    """Tokens of a world with three degrees of freedom; neighbours resemble each other, as they do in a picture."""
    draw = torch.Generator().manual_seed(0)
    cause, mixing = torch.randn(n, 3, generator=draw), torch.randn(3, len(KINDS), 10, generator=draw)
    tokens = torch.einsum("nc,cmd->nmd", cause, mixing).tanh() + torch.randn(len(KINDS), 10, generator=draw)
    return InMemory(tokens, torch.ones(n, len(KINDS), dtype=torch.bool), KINDS)


def trained(config=TOKEN, fit=FIT, seed=0, embeddings=None):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    token = RLToken(config, 10, KINDS)
    return token, train_token(token, embeddings or world(), fit, seed)


@pytest.fixture(scope="module")
def result():
    return trained()


def test_z_alone_reconstructs_three_times_better_than_the_position_mean(result):
    _, metrics = result
    assert metrics["z_alone"] * 3 < metrics["position_mean"]


def test_reconstruction_gets_worse_with_another_frames_z(result):
    token, metrics = result
    tokens, mask = token.select(world().tokens, world().mask, KINDS)
    z = encode_all(token, world()).roll(1, dims=0)
    wrong = token.decode(z, tokens, torch.zeros_like(mask))
    assert (wrong - tokens).square().mean() > 3 * metrics["z_alone"]


def test_without_context_dropout_z_alone_is_worse(result):
    _, metrics = result
    _, teacher = trained(replace(TOKEN, context_dropout=0.0))
    assert teacher["z_alone"] > 2 * metrics["z_alone"]


def test_the_agent_gets_standardised_z(result):
    z = encode_all(result[0], world())
    assert z.mean(dim=0).abs().max() < 1e-3
    assert (z.std(dim=0) - 1).abs().max() < 1e-2


def test_the_same_seed_gives_the_same_weights(result):
    again, _ = trained()
    assert all(torch.equal(a, b) for a, b in zip(result[0].state_dict().values(), again.state_dict().values()))


def test_masked_frames_do_not_move_the_position_mean():
    token, seen = RLToken(TOKEN, 10, KINDS), world(4)
    seen.mask[0, 0] = False
    changed = replace(seen, tokens=seen.tokens.clone())
    changed.tokens[0, 0] = 1e6
    before, after = (reconstruction(token, x)["position_mean"] for x in (seen, changed))
    assert before == pytest.approx(after)


def test_the_figures_do_not_depend_on_how_frames_are_cut(result):
    whole, cut = (reconstruction(result[0], world(), batch) for batch in (300, 7))
    assert whole == pytest.approx(cut, rel=1e-5)


def test_z_2048_reconstructs_three_times_better_than_the_position_mean():
    wide = TokenConfig(dim=2048, width=128, heads=8, layers=2, narrow=16)
    token, metrics = trained(wide, FitConfig(steps=120, batch=32, rate=1e-3))
    assert encode_all(token, world()).shape == (300, 2048)
    assert metrics["z_alone"] * 3 < metrics["position_mean"]


def test_attention_alone_reconstructs_too():
    _, metrics = trained(replace(TOKEN, narrow=0, layers=2), FitConfig(steps=500, batch=32, rate=3e-3))
    assert metrics["z_alone"] * 3 < metrics["position_mean"]


def test_normalised_channels_let_the_loud_ones_not_drown_the_rest():
    """Some VLAs scale channels up by thirty; z has to carry the others all the same (method.md C.6 no. 45)."""
    loud = replace(world(), tokens=world().tokens * torch.tensor([100.0] + [1.0] * 9))
    errors = {}
    for normalise in (False, True):
        token, _ = trained(replace(TOKEN, normalise=normalise), embeddings=loud)
        tokens, mask = token.select(loud.tokens, loud.mask, KINDS)
        told = token.decode(encode_all(token, loud), tokens, torch.zeros_like(mask)).detach()
        quiet, seen = tokens[..., 1:], told[..., 1:]
        errors[normalise] = float((seen - quiet).square().mean() / quiet.var(dim=0).mean())
    assert errors[True] < 0.2 < errors[False]


def test_an_untrained_token_is_standardised_all_the_same():
    token, metrics = trained(fit=replace(FIT, steps=0))
    torch.manual_seed(0)
    fresh = RLToken(TOKEN, 10, KINDS)
    assert torch.equal(token.reduce.weight, fresh.reduce.weight)
    assert (encode_all(token, world()).std(dim=0) - 1).abs().max() < 1e-2
    assert set(metrics) == {"z_alone", "position_mean"}
