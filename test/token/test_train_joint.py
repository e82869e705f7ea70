"""VLA and token in one pass: rlt_loss + alpha * vla_loss, and what is learned from which (RLT paper, A.2)."""

from dataclasses import replace

import pytest
import torch
from stage1_example import CONFIG, episodes_of

from rlt_ros.token.config import FitConfig
from rlt_ros.token.corpus import Corpus
from rlt_ros.token.fit import fit
from rlt_ros.token.model import RLToken
from rlt_ros.token.train_joint import JointObjective, train_joint
from rlt_ros.token.train_vla import Change, VLAObjective, train_vla
from rlt_ros.vla.tiny import TinyVLA

FIT = FitConfig(steps=60, batch=16, rate=2e-3)


def parts(**changes):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = replace(CONFIG, fit_vla=FIT, fit_token=FIT, validation=0.2, **changes)
    vla = TinyVLA(config.vla)
    token = RLToken(config.token, vla.width, vla.kinds)
    return config, vla, token, Corpus.of(episodes_of(6), config, vla, seed=0)


def gradients(alpha):
    config, vla, token, corpus = parts(alpha=alpha)
    objective = JointObjective(vla, token, corpus, config)
    losses = objective(torch.arange(8), torch.Generator().manual_seed(2))
    next(iter(losses.values())).backward()
    return losses, {name: p.grad for name, p in objective.named_parameters()}


def test_the_total_is_rlt_loss_and_alpha_times_vla_loss():
    losses, _ = gradients(0.25)
    assert list(losses)[0] == "total_loss"
    torch.testing.assert_close(losses["total_loss"], losses["rlt_loss"] + 0.25 * losses["vla_loss"])


def test_the_vla_learns_from_its_own_loss_only():
    """Its gradient is alpha times that of vla_loss; alpha 0 leaves none, however wrong the token is."""
    (_, whole), (_, half), (_, none) = (gradients(alpha) for alpha in (1.0, 0.5, 0.0))
    vla = [name for name in whole if name.startswith("vla_objective")]
    for name in vla:
        torch.testing.assert_close(half[name], 0.5 * whole[name])
        assert none[name].abs().max() == 0.0
    for name in set(whole) - set(vla):
        torch.testing.assert_close(half[name], whole[name])


def test_a_joint_pass_is_the_vlas_own_pass():
    config, vla, token, corpus = parts()
    joint, alone = JointObjective(vla, token, corpus, config), VLAObjective(vla, corpus, config)
    losses = [objective(torch.arange(8), torch.Generator().manual_seed(2)) for objective in (joint, alone)]
    torch.testing.assert_close(losses[0]["vla_loss"], losses[1]["vla_loss"])


def test_both_are_learned():
    config, vla, token, corpus = parts()
    metrics = train_joint(vla, token, corpus, config, seed=0)
    first, _ = gradients(1.0)
    assert metrics["rlt_loss"] < 0.5 * first["rlt_loss"].item()
    assert metrics["total_loss"] == pytest.approx(metrics["rlt_loss"] + metrics["vla_loss"], rel=1e-5)
    assert {"val_total_loss", "val_rlt_loss", "val_vla_loss"} <= set(metrics)


def test_the_vla_sees_neither_validation_episodes_nor_changed_pictures_of_them():
    config, vla, _, corpus = parts()
    assert len(corpus.validation) == 20 and len(corpus.training) == 100
    assert len(set(corpus.episode[corpus.validation.numpy()])) == 1
    objective, seen = VLAObjective(vla, corpus, config), []
    passed = objective.passed
    objective.passed = lambda rows, draw: seen.append(rows) or passed(rows, draw)
    fit(objective, FIT, corpus.training, 0)
    assert set(torch.cat(seen).tolist()) == set(corpus.training.tolist())
    objective.eval()
    losses = [objective(corpus.validation, torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(losses[0]["vla_loss"], losses[1]["vla_loss"])


def test_a_backend_that_takes_pictures_only_gets_changed_ones_too():
    config, vla, _, corpus = parts()
    batch = corpus.batch(slice(0, 6), "go")
    same = Change(0.0, 0).of_batch(batch, torch.Generator())
    changed = Change(0.1, 2).of_batch(batch, torch.Generator().manual_seed(0))
    assert same is batch
    changed.check(vla.cameras, vla.image_size, vla.proprio_dim)
    assert all((changed.images[name] != batch.images[name]).any() for name in vla.cameras)
    pixels = Change(0.1, 2).of_pixels(
        vla.pixels(torch.stack([torch.from_numpy(batch.images[name]) for name in vla.cameras], dim=1)),
        torch.Generator().manual_seed(0),
    )
    rounded = vla.pixels(torch.stack([torch.from_numpy(changed.images[name]) for name in vla.cameras], dim=1))
    torch.testing.assert_close(rounded, pixels.clamp(-1, 1), atol=0.5 / 127.5 + 1e-5, rtol=0)


def test_statistics_of_actions_are_taken_before_the_first_step():
    config, vla, _, corpus = parts()
    train_vla(vla, corpus, replace(config, fit_vla=FitConfig(steps=1, batch=4)), seed=0)
    assert not torch.equal(vla.head.std, torch.ones_like(vla.head.std))
