"""The mathematics of the method as pure functions of tensors. Equation numbers are those of arXiv 2604.23073.

B rows, K critics, C steps, d dimensions that the policy decides. gamma is per control step.
"""

from __future__ import annotations

from rlt_ros.tensor import torch

Tensor = torch.Tensor


def td_target(
    rewards: Tensor, valid: Tensor, horizon: Tensor, terminated: Tensor, next_value: Tensor, gamma: float
) -> Tensor:
    """Right side of Eq. 3 for windows that may be short, (B,).

    y = sum_{i < h} gamma^i r_i + gamma^h (1 - terminated) V(x'), with h = horizon executed steps. A truncated window
    bootstraps, a terminated one does not. rewards, valid: (B, C). horizon, terminated, next_value: (B,).

    That is `bootstrap_type` "standard". With "always" (both of RLinf's names) nothing counts as terminated: the value
    after an outcome is that of the observation which follows it, as if practice went on there. It is meant for dense
    rewards; with a reward at the end only, a failure is then worth what its last observation promises, and q_high must
    be raised to the return of many successes in a row.
    """
    discounts = gamma ** torch.arange(rewards.shape[1], device=rewards.device, dtype=rewards.dtype)
    inside = (rewards * valid) @ discounts
    return inside + gamma**horizon * (1.0 - terminated) * next_value


def pessimistic(values: Tensor) -> Tensor:
    """Minimum over the members of the target ensemble: (M, B) to (B,)."""
    return values.min(dim=0).values


def critic_loss(values: Tensor, target: Tensor) -> Tensor:
    """Mean squared error of every member, summed over members: none learns slower for having company. (K, B), (B,)."""
    return (values - target).square().mean(dim=1).sum()


def bc_target(reference: Tensor, action: Tensor, human: Tensor) -> Tensor:
    """What the actor is drawn to: the raw reference, or per step the human's action. (B, C, d); human: (B, C)."""
    return torch.where(human.unsqueeze(2) > 0, action, reference)


def of_success(human: Tensor, valid: Tensor, mc_return: Tensor) -> Tensor:
    """Executed steps that are worth imitating where nothing else is: all of a phase that succeeded, and a person's.

    (B, C), 1 or 0. human, valid: (B, C); mc_return: (B,), not above 0 after a failure, NaN after an abort.
    """
    return valid * ((mc_return > 0).unsqueeze(1) | (human > 0))


def bc_loss(chunk: Tensor, target: Tensor, steps: Tensor | None = None) -> Tensor:
    """Squared distance of Eq. 5, SUMMED over the C * d numbers of a chunk, mean over rows. Mean convention: / (C d).

    steps: (B, C), 1 where a step counts; None: all do.
    """
    distance = (chunk - target).square().sum(dim=2)
    return (distance if steps is None else distance * steps).sum(dim=1).mean()


def smoothing_noise(like: Tensor, sigma: float, bound: float, generator: torch.Generator) -> Tensor:
    """Clipped Gaussian of TD3, the only noise in the target, drawn on the CPU so that every device sees the same."""
    noise = torch.randn(like.shape, generator=generator) * sigma
    return noise.clamp_(-bound, bound).to(like.device)


def gaussian(like: Tensor, sigma: float, generator: torch.Generator) -> Tensor:
    """Noise of the Gaussian policy, of another tensor's shape and device."""
    return (torch.randn(like.shape, generator=generator) * sigma).to(like.device)


def sampled(chunk: Tensor, noise: Tensor) -> Tensor:
    """a ~ pi of Eq. 4 around its mean (B, C, d), clipped to the action space; the gradient reaches the mean."""
    return (chunk + noise).clamp(-1.0, 1.0)


def completed(executed: Tensor, valid: Tensor, chunk: Tensor) -> Tensor:
    """Executed chunks with the steps beyond the horizon taken from other chunks: (B, C, d), (B, C), (B, C, d).

    What would have come after the end of a phase changes nothing about its outcome. Completed by what the policy would
    have gone on with, a short window teaches the critic exactly what it will be asked near the end of a phase; blanked,
    it teaches about blanks, and outcomes reach whole chunks through one window in a phase only.
    """
    return torch.where(valid.unsqueeze(2) > 0, executed, chunk)


def kept_rows(like: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Bool (B, 1, 1) for chunks (B, C, d): all rows but a share of them, drawn for each row on its own."""
    return (torch.rand(like.shape[0], 1, 1, generator=generator) >= share).to(like.device)


def dropped(reference: Tensor, kept: Tensor) -> Tensor:
    """The reference INPUT (B, C, d), zeroed as a whole where it is not kept."""
    return reference * kept
