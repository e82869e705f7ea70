"""The tiny VLA (design.md 5; field reports B13, B19, B49)."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from vla_conformance import (
    CHECKS,
    TRAINING_CHECKS,
    batch_equals_single,
    chunks,
    example,
    loss_and_tokens_come_from_one_pass,
    padding_has_no_influence,
    what_is_saved_is_loaded,
)

from rlt_ros.vla.config import SIZES, TinyConfig
from rlt_ros.vla.contract import TokenKind, VLAInput
from rlt_ros.vla.tiny import TinyVLA
from rlt_ros.vla.words import word_rows

DEMO_IDENTITY = "87063a4b97287308"
GOLDEN_TOKENS = [-0.00095, -0.15295, -0.30752]
GOLDEN_REFERENCE = [-0.5149, 0.77745, -0.18384]


@pytest.fixture(scope="module")
def vla():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return TinyVLA(TinyConfig()).eval()


@pytest.mark.parametrize("check", CHECKS + TRAINING_CHECKS, ids=lambda check: check.__name__)
def test_conformance(vla, check):
    check(vla)


def test_saved_and_loaded(vla, tmp_path):
    what_is_saved_is_loaded(vla, tmp_path)


@pytest.mark.parametrize(
    ("size", "tokens", "least", "most"), [("demo", 40, 300_000, 700_000), ("large", 100, 1_000_000, 5_000_000)]
)
def test_sizes_are_within_their_bounds(size, tokens, least, most):
    vla = TinyVLA(SIZES[size])
    assert len(vla.kinds) <= tokens
    assert least <= sum(p.numel() for p in vla.parameters()) <= most
    for check in (batch_equals_single, loss_and_tokens_come_from_one_pass):
        check(vla.eval())


def test_the_demo_is_what_its_checkpoints_were_trained_as():
    assert SIZES["demo"] == TinyConfig()
    vla = TinyVLA(TinyConfig())
    for tensor in vla.state_dict().values():
        tensor.zero_()
    assert vla.identity.startswith(DEMO_IDENTITY), "names, shapes or settings have changed: old checkpoints are refused"


def test_tokens_are_named_by_kind(vla):
    kinds = vla.kinds
    assert kinds.count(TokenKind.IMAGE) == 32
    assert kinds.count(TokenKind.INSTRUCTION) == vla.config.instruction_slots
    assert kinds[-1] == TokenKind.STATE


def test_only_unused_instruction_slots_are_padding(vla):
    out = vla.infer(example(vla, 2, "insert peg"), [1, 2])
    padded = [vla.kinds[i] for i in torch.nonzero(~out.mask[0]).flatten().tolist()]
    assert padded == [TokenKind.INSTRUCTION] * (vla.config.instruction_slots - 2)


def test_what_stands_in_padding_has_no_influence(vla):
    @contextmanager
    def changed():
        row = vla.words.weight[0].clone()
        with torch.no_grad():
            vla.words.weight[0] = 100.0
        try:
            yield
        finally:
            with torch.no_grad():
                vla.words.weight[0] = row

    padding_has_no_influence(vla, changed)


def test_cameras_are_taken_by_name_and_not_by_order(vla):
    batch = example(vla, 1)
    turned = replace(batch, images=dict(reversed(batch.images.items())))
    assert torch.equal(vla.infer(batch, [1]).tokens, vla.infer(turned, [1]).tokens)


def test_a_longer_instruction_than_there_are_slots_is_refused(vla):
    with pytest.raises(ValueError, match="5 words .* 4 slots"):
        vla.infer(example(vla, 1, "please insert the peg now"), [1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: replace(b, images={"front": b.images["front"]}), r"cameras \['front'\].*\['front', 'wrist'\]"),
        (lambda b: replace(b, images=b.images | {"side": b.images["front"]}), "side"),
        (lambda b: replace(b, images=b.images | {"front": b.images["front"][:, :32]}), r"images\[front\].*\(1, 32, 64"),
        (lambda b: replace(b, images=b.images | {"front": b.images["front"] / 255.0}), r"images\[front\]: float64"),
        (lambda b: replace(b, proprio=b.proprio[:, :18]), r"proprio: shape \(1, 18\); the model has \(N, 19\)"),
        (lambda b: replace(b, proprio=b.proprio * np.nan), "proprio: not finite"),
        (lambda b: replace(b, state=np.full_like(b.proprio, np.inf)), "state: not finite"),
    ],
)
def test_a_wrong_input_is_refused_with_both_values(vla, change, message):
    with pytest.raises(ValueError, match=message):
        vla.infer(change(example(vla, 1)), [1])


def test_seeds_are_64_bit(vla):
    with pytest.raises(ValueError, match=r"seeds: \[-1\]"):
        vla.infer(example(vla, 1), [-1])


def test_training_by_the_contract_alone_comes_close_to_the_demonstrations():
    torch.manual_seed(0)
    vla = TinyVLA(TinyConfig(width=32, layers=1, flow_layers=1, heads=2, readout=4, image_size=32, horizon=8))
    batch, (actions, valid) = example(vla, 4), chunks(vla, 4)
    vla.standardise(actions)
    draw, optimiser = torch.Generator().manual_seed(1), torch.optim.Adam(vla.parameters(), lr=3e-3)
    losses = []
    for _ in range(250):
        loss = vla.loss(batch, actions, valid, draw).vla_loss
        losses.append(float(loss.detach()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert sum(losses[-20:]) < 0.6 * sum(losses[:20])


def test_the_identity_follows_weights_and_configuration(vla):
    torch.manual_seed(0)
    twin = TinyVLA(TinyConfig())
    assert twin.identity == vla.identity
    torch.manual_seed(0)
    assert TinyVLA(TinyConfig(flow_steps=8)).identity != vla.identity
    with torch.no_grad():
        twin.words.weight[3, 5] += 1e-6
    assert twin.identity != vla.identity


@pytest.mark.parametrize("values", [{"image_size": 50}, {"horizon": 10, "steps_per_token": 4}, {"heads": 5}])
def test_sizes_that_do_not_divide_are_refused(values):
    with pytest.raises(ValueError):
        TinyConfig(**values)


def test_words_have_the_same_rows_in_every_process():
    assert word_rows("Insert the peg", 4, 64) == word_rows("insert  the peg", 4, 64) == [54, 39, 28]
    assert 0 not in word_rows("a b c d", 4, 64)


def test_input_check_needs_no_model():
    batch = VLAInput({"front": np.zeros((1, 8, 8, 3), np.uint8)}, np.zeros((1, 3), np.float32), "go")
    batch.check(["front"], (8, 8), 3)


def test_the_output_is_what_it_was_when_checkpoints_were_made():
    """Field report B15: weights may load without an error and still mean something else."""
    small = TinyVLA(TinyConfig(width=16, layers=1, flow_layers=1, heads=2, readout=4, image_size=32)).eval()
    with torch.no_grad():
        for number, parameter in enumerate(small.parameters()):
            ramp = torch.arange(parameter.numel(), dtype=torch.float64).reshape(parameter.shape)
            parameter.copy_((0.3 * torch.sin(ramp * 0.7 + number)).float())
    out = small.infer(example(small, 1), [1])
    torch.testing.assert_close(out.tokens[0, 0, :3], torch.tensor(GOLDEN_TOKENS), atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(out.reference[0, 0, :3], torch.tensor(GOLDEN_REFERENCE), atol=1e-4, rtol=1e-3)
