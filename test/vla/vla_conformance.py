"""What every VLA backend must do: `CHECKS` on one that is already built, `TRAINING_CHECKS` on one that can be trained.

A check takes the VLA and nothing else; `padding_has_no_influence` also takes how to change what stands in padding.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
import torch

from rlt_ros.vla.backends import load_vla, save_vla
from rlt_ros.vla.contract import VLA, TokenKind, TrainableVLA, VLAInput, VLAOutput
from rlt_ros.vla.latency import measure

TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


def example(vla: VLA, n: int, instruction: str = "insert the peg", seed: int = 0) -> VLAInput:
    rng = np.random.default_rng(seed)
    images = {c: rng.integers(0, 256, (n, *vla.image_size, 3), dtype=np.uint8) for c in vla.cameras}
    proprio = rng.normal(size=(n, vla.proprio_dim)).astype(np.float32)
    return VLAInput(images, proprio, instruction, state=0.5 * proprio)


def row(batch: VLAInput, i: int) -> VLAInput:
    images = {name: pictures[i : i + 1] for name, pictures in batch.images.items()}
    return VLAInput(images, batch.proprio[i : i + 1], batch.instruction, batch.state[i : i + 1])


def chunks(vla: VLA, n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Actions (n, H, A) in [-1, 1] and all of their steps valid."""
    draw = torch.Generator().manual_seed(seed)
    actions = 2.0 * torch.rand(n, vla.horizon, vla.action_dim, generator=draw) - 1.0
    return actions, torch.ones(n, vla.horizon, dtype=torch.bool)


def one_pass_gives_both_outputs(vla: VLA) -> None:
    out = vla.infer(example(vla, 3), [1, 2, 3])
    assert out.tokens.shape == (3, len(out.kinds), vla.width)
    assert out.mask.shape == out.tokens.shape[:2]
    assert out.reference.shape == (3, vla.horizon, vla.action_dim)
    assert torch.isfinite(out.tokens[out.mask]).all() and torch.isfinite(out.reference).all()


def dtypes_and_device_are_honoured(vla: VLA) -> None:
    out = vla.infer(example(vla, 2), [1, 2])
    assert out.tokens.dtype == out.reference.dtype == torch.float32 and out.mask.dtype == torch.bool
    assert out.tokens.device == out.reference.device == out.mask.device
    if isinstance(vla, torch.nn.Module):
        assert out.tokens.device == next(vla.parameters()).device


def nothing_that_is_given_carries_a_gradient(vla: VLA) -> None:
    out = vla.infer(example(vla, 1), [1])
    assert not out.tokens.requires_grad and not out.reference.requires_grad


def kinds_follow_from_the_instruction(vla: VLA) -> None:
    for text in ("insert the peg", "insert peg"):
        for seed in (0, 1):
            out = vla.infer(example(vla, 2, text, seed), [1, 2])
            assert out.kinds == vla.token_kinds(text)


def images_and_instruction_are_there(vla: VLA) -> None:
    out = vla.infer(example(vla, 1), [1])
    kinds = np.array(out.kinds)
    assert {TokenKind.IMAGE, TokenKind.INSTRUCTION} <= set(out.kinds) <= set(TokenKind)
    assert (kinds == TokenKind.IMAGE).sum() % len(vla.cameras) == 0
    seen = out.mask[0].cpu().numpy()
    assert seen[kinds == TokenKind.IMAGE].all(), "every camera of the input is seen"
    assert seen[kinds == TokenKind.INSTRUCTION].any()


def same_seed_same_output(vla: VLA) -> None:
    a, b = (vla.infer(example(vla, 2), [5, 6]) for _ in range(2))
    assert torch.equal(a.tokens, b.tokens) and torch.equal(a.reference, b.reference)


def the_seed_moves_only_the_reference(vla: VLA) -> None:
    a, b = vla.infer(example(vla, 1), [5]), vla.infer(example(vla, 1), [6])
    assert torch.equal(a.tokens, b.tokens)
    assert not torch.equal(a.reference, b.reference)


def batch_equals_single(vla: VLA) -> None:
    batch = example(vla, 4)
    together = vla.infer(batch, [7, 8, 9, 10])
    for i in range(4):
        alone = vla.infer(row(batch, i), [7 + i])
        seen = alone.mask[0]
        assert torch.equal(seen, together.mask[i])
        torch.testing.assert_close(alone.tokens[0][seen], together.tokens[i][seen], **TOLERANCE)
        torch.testing.assert_close(alone.reference[0], together.reference[i], **TOLERANCE)


def each_camera_the_state_and_the_words_matter(vla: VLA) -> None:
    batch = example(vla, 1)
    base = vla.infer(batch, [1])
    for name in vla.cameras:
        dark = batch.images | {name: np.zeros_like(batch.images[name])}
        assert _differs(base, vla.infer(VLAInput(dark, batch.proprio, batch.instruction, batch.state), [1]))
    moved = VLAInput(batch.images, batch.proprio + 0.3, batch.instruction, batch.state + 0.3)
    assert _differs(base, vla.infer(moved, [1]))
    assert _differs(base, vla.infer(VLAInput(batch.images, batch.proprio, "insert the plug", batch.state), [1]))


def a_wrong_input_is_refused(vla: VLA) -> None:
    batch = example(vla, 2)
    with pytest.raises(ValueError, match="seeds"):
        vla.infer(batch, [1])
    with pytest.raises(ValueError, match="proprio"):
        vla.infer(VLAInput(batch.images, batch.proprio[:, 1:], batch.instruction, batch.state[:, 1:]), [1, 2])
    with pytest.raises(ValueError, match="cameras"):
        vla.infer(VLAInput({}, batch.proprio, batch.instruction, batch.state), [1, 2])


def global_random_state_is_left_alone(vla: VLA) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    vla.infer(example(vla, 1), [5])
    assert torch.equal(torch.get_rng_state(), before)


def inputs_are_not_changed(vla: VLA) -> None:
    batch, same = example(vla, 2), example(vla, 2)
    vla.infer(batch, [1, 2])
    np.testing.assert_array_equal(batch.proprio, same.proprio)
    np.testing.assert_array_equal(batch.state, same.state)
    for name in vla.cameras:
        np.testing.assert_array_equal(batch.images[name], same.images[name])


def latency_is_reported(vla: VLA) -> None:
    report = measure(vla, example(vla, 1), passes=3, warmup=1).report()
    assert report["passes"] == 3
    assert 0.0 < report["p50_ms"] <= report["p99_ms"] <= report["max_ms"]
    print(f"{vla.backend}: {report}")


CHECKS = (
    one_pass_gives_both_outputs,
    dtypes_and_device_are_honoured,
    nothing_that_is_given_carries_a_gradient,
    kinds_follow_from_the_instruction,
    images_and_instruction_are_there,
    same_seed_same_output,
    the_seed_moves_only_the_reference,
    batch_equals_single,
    each_camera_the_state_and_the_words_matter,
    a_wrong_input_is_refused,
    global_random_state_is_left_alone,
    inputs_are_not_changed,
    latency_is_reported,
)


def padding_has_no_influence(vla: VLA, changed: Callable[[], AbstractContextManager[None]]) -> None:
    """changed: a context in which other numbers stand where the mask is False."""
    batch = example(vla, 2, "insert peg")
    before = vla.infer(batch, [1, 2])
    assert not before.mask.all(), "nothing is padded, so nothing is shown"
    with changed():
        after = vla.infer(batch, [1, 2])
    assert torch.equal(before.mask, after.mask)
    torch.testing.assert_close(before.tokens[before.mask], after.tokens[after.mask], **TOLERANCE)
    torch.testing.assert_close(before.reference, after.reference, **TOLERANCE)


def what_is_saved_is_loaded(vla: VLA, folder: Path) -> None:
    settings = save_vla(vla, folder)
    again = load_vla(settings, folder, "test")
    assert again.identity == vla.identity
    a, b = (each.infer(example(vla, 1), [3]) for each in (vla, again))
    assert torch.equal(a.tokens, b.tokens) and torch.equal(a.reference, b.reference)


def loss_and_tokens_come_from_one_pass(vla: TrainableVLA) -> None:
    batch = example(vla, 2)
    loss = vla.loss(batch, *chunks(vla, 2), torch.Generator().manual_seed(1))
    assert loss.vla_loss.shape == () and loss.vla_loss.dtype == torch.float32
    assert torch.isfinite(loss.vla_loss) and loss.vla_loss.requires_grad
    out = vla.infer(batch, [1, 2])
    assert loss.kinds == out.kinds and torch.equal(loss.mask, out.mask)
    torch.testing.assert_close(loss.tokens[loss.mask], out.tokens[out.mask], atol=1e-4, rtol=1e-4)


def the_generator_decides_the_loss(vla: TrainableVLA) -> None:
    batch, (actions, valid) = example(vla, 2), chunks(vla, 2)
    state = torch.get_rng_state()
    a, b, c = (vla.loss(batch, actions, valid, torch.Generator().manual_seed(s)).vla_loss for s in (1, 1, 2))
    assert torch.equal(a, b) and not torch.equal(a, c)
    assert torch.equal(torch.get_rng_state(), state)


def the_loss_reaches_parameters(vla: TrainableVLA) -> None:
    vla.zero_grad()
    vla.loss(example(vla, 2), *chunks(vla, 2), torch.Generator().manual_seed(1)).vla_loss.backward()
    trained = [p for p in vla.parameters() if p.requires_grad]
    assert trained and any(p.grad is not None and p.grad.abs().sum() > 0 for p in trained)
    vla.zero_grad()


def only_valid_steps_count(vla: TrainableVLA) -> None:
    """Over both halves of a chunk the loss is the mean of what it is over each."""
    batch, (actions, valid) = example(vla, 2), chunks(vla, 2)
    first = valid & (torch.arange(vla.horizon) < vla.horizon // 2)
    parts = [vla.loss(batch, actions, v, torch.Generator().manual_seed(1)).vla_loss for v in (valid, first, ~first)]
    assert not torch.equal(parts[1], parts[2])
    torch.testing.assert_close(parts[0], (parts[1] + parts[2]) / 2, **TOLERANCE)


TRAINING_CHECKS = (
    loss_and_tokens_come_from_one_pass,
    the_generator_decides_the_loss,
    the_loss_reaches_parameters,
    only_valid_steps_count,
)


def _differs(a: VLAOutput, b: VLAOutput) -> bool:
    return not torch.equal(a.reference, b.reference)
