"""Training the token: z must carry the tokens, and the figures must say so (method.md C.6 no. 42; report B18)."""

from dataclasses import replace

import pytest
import torch

from rlt_ros.token.config import FitConfig, Stage1Config, TokenConfig
from rlt_ros.token.fit import fit, rate_factor
from rlt_ros.token.model import RLToken
from rlt_ros.token.train_token import encode_all, reconstruction, train_token
from rlt_ros.vla.contract import TokenKind

KINDS = (TokenKind.IMAGE,) * 6 + (TokenKind.INSTRUCTION,) + (TokenKind.STATE,)
CONFIG = Stage1Config(
    token=TokenConfig(dim=8, width=32, heads=2, layers=1), fit_token=FitConfig(steps=300, batch=32, rate=3e-3)
)


def world(n=300):
    """Tokens of a world with three degrees of freedom; neighbours resemble each other, as they do in a picture."""
    draw = torch.Generator().manual_seed(0)
    cause, mixing = torch.randn(n, 3, generator=draw), torch.randn(3, len(KINDS), 10, generator=draw)
    tokens = torch.einsum("nc,cmd->nmd", cause, mixing).tanh() + torch.randn(len(KINDS), 10, generator=draw)
    return tokens, torch.ones(n, len(KINDS), dtype=torch.bool)


def trained(config=CONFIG, seed=0):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    token = RLToken(config.token, 10, KINDS)
    return token, train_token(token, *world(), KINDS, config, seed)


@pytest.fixture(scope="module")
def result():
    return trained()


def test_z_alone_reconstructs_three_times_better_than_the_position_mean(result):
    _, metrics = result
    assert metrics["z_alone"] * 3 < metrics["position_mean"]


def test_reconstruction_gets_worse_with_another_frames_z(result):
    token, metrics = result
    tokens, mask = token.select(*world(), KINDS)
    z = encode_all(token, *world(), KINDS).roll(1, dims=0)
    wrong = token.decode(z, tokens, torch.zeros_like(mask))
    assert (wrong - tokens).square().mean() > 3 * metrics["z_alone"]


def test_without_context_dropout_z_alone_is_worse(result):
    _, metrics = result
    _, teacher = trained(replace(CONFIG, token=replace(CONFIG.token, context_dropout=0.0)))
    assert teacher["z_alone"] > 2 * metrics["z_alone"]


def test_the_agent_gets_standardised_z(result):
    z = encode_all(result[0], *world(), KINDS)
    assert z.mean(dim=0).abs().max() < 1e-3
    assert (z.std(dim=0) - 1).abs().max() < 1e-2


def test_the_same_seed_gives_the_same_weights(result):
    again, _ = trained()
    assert all(torch.equal(a, b) for a, b in zip(result[0].state_dict().values(), again.state_dict().values()))


def test_masked_frames_do_not_move_the_position_mean():
    token, (tokens, mask) = RLToken(CONFIG.token, 10, KINDS), world(4)
    mask[0, 0] = False
    changed = tokens.clone()
    changed[0, 0] = 1e6
    before, after = (reconstruction(token, x, mask, KINDS)["position_mean"] for x in (tokens, changed))
    assert before == pytest.approx(after)


def test_the_rate_warms_up_and_ends_at_zero():
    config = FitConfig(steps=100, batch=1, warmup=0.1)
    factors = [rate_factor(step, config) for step in range(100)]
    assert factors[0] == pytest.approx(0.1) and max(factors) == 1.0 and factors[-1] < 0.01
    assert factors[:10] == sorted(factors[:10]) and factors[10:] == sorted(factors[10:], reverse=True)


def test_a_loss_that_is_not_finite_stops_the_training():
    model = torch.nn.Linear(1, 1)
    with pytest.raises(ArithmeticError, match="demo: loss is nan at step 0"):
        fit(model, FitConfig(steps=3, batch=1), 1, lambda rows: {"loss": model.weight.sum() * torch.nan}, "demo", 0)


def test_every_frame_is_drawn_equally_often():
    seen, model = torch.zeros(7), torch.nn.Linear(1, 1)

    def loss_of(rows):
        seen.index_add_(0, rows, torch.ones(len(rows)))
        return {"loss": model.weight.sum()}

    fit(model, FitConfig(steps=14, batch=3), 7, loss_of, "demo", 0)
    assert seen.tolist() == [6] * 7
