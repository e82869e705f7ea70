"""What every VLA backend must do; `check_all` runs it on one that is already built."""

import numpy as np
import torch

from rlt_ros.vla.contract import VLA, TokenKind, VLAInput


def example(vla: VLA, n: int, instruction: str = "insert the peg", seed: int = 0) -> VLAInput:
    rng = np.random.default_rng(seed)
    return VLAInput(
        images={c: rng.integers(0, 256, (n, *vla.image_size, 3), dtype=np.uint8) for c in vla.cameras},
        proprio=rng.normal(size=(n, vla.proprio_dim)).astype(np.float32),
        instruction=instruction,
    )


def row(batch: VLAInput, i: int) -> VLAInput:
    images = {name: pictures[i : i + 1] for name, pictures in batch.images.items()}
    return VLAInput(images, batch.proprio[i : i + 1], batch.instruction)


def one_pass_gives_both_outputs(vla: VLA) -> None:
    out = vla.infer(example(vla, 3), [1, 2, 3])
    assert out.tokens.shape == (3, len(out.kinds), vla.width)
    assert out.mask.shape == out.tokens.shape[:2] and out.mask.dtype == torch.bool
    assert out.reference.shape == (3, vla.horizon, vla.action_dim)
    assert out.tokens.dtype == out.reference.dtype == torch.float32
    assert torch.isfinite(out.tokens).all() and torch.isfinite(out.reference).all()


def every_kind_is_there(vla: VLA) -> None:
    assert set(vla.infer(example(vla, 1), [1]).kinds) == set(TokenKind)


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
        torch.testing.assert_close(alone.tokens[0], together.tokens[i], atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(alone.reference[0], together.reference[i], atol=1e-5, rtol=1e-5)


def global_random_state_is_left_alone(vla: VLA) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    vla.infer(example(vla, 1), [5])
    assert torch.equal(torch.get_rng_state(), before)


def inputs_are_not_changed(vla: VLA) -> None:
    batch, same = example(vla, 2), example(vla, 2)
    vla.infer(batch, [1, 2])
    np.testing.assert_array_equal(batch.proprio, same.proprio)
    for name in vla.cameras:
        np.testing.assert_array_equal(batch.images[name], same.images[name])


CHECKS = (
    one_pass_gives_both_outputs,
    every_kind_is_there,
    same_seed_same_output,
    the_seed_moves_only_the_reference,
    batch_equals_single,
    global_random_state_is_left_alone,
    inputs_are_not_changed,
)
