"""The random numbers of an update, drawn on the CPU from one generator, so that every device sees the same."""

from __future__ import annotations

from collections.abc import Sequence

from rlt_ros.rl import losses
from rlt_ros.rl.config import AgentConfig
from rlt_ros.tensor import torch

Tensor = torch.Tensor


class Draws:
    """Each number is drawn when it is asked for. like: chunks (B, C, d) that give shape and device."""

    def __init__(self, config: AgentConfig, generator: torch.Generator) -> None:
        self._config, self._generator = config, generator

    def smoothing(self, like: Tensor) -> Tensor:
        """Noise of the target's next action, (B, C, d)."""
        return losses.smoothing_noise(like, self._config.target_noise, self._config.target_noise_clip, self._generator)

    def members(self) -> Sequence[int] | Tensor:
        """Critics that count in the target, in rising order."""
        order = torch.randperm(self._config.critics, generator=self._generator)
        return sorted(order[: self._config.target_critics].tolist())

    def kept(self, like: Tensor) -> Tensor:
        """Rows whose actor sees the reference, bool (B, 1, 1)."""
        return losses.kept_rows(like, self._config.reference_dropout, self._generator)

    def training(self, like: Tensor) -> Tensor:
        """Noise of the actor's update, (B, C, d)."""
        return losses.gaussian(like, self._config.training_noise, self._generator)


class Prepared:
    """The same numbers in buffers, which a CUDA graph reads: it cannot draw on the CPU.

    Each `fill_*` draws what `Draws` would at that place, in the same order.
    """

    def __init__(self, draws: Draws, like: Tensor, members: int) -> None:
        """like: chunks (B, C, d). members: how many critics count in the target."""
        self._draws = draws
        self._smoothing, self._training = torch.zeros_like(like), torch.zeros_like(like)
        self._kept = torch.ones(len(like), 1, 1, dtype=torch.bool, device=like.device)
        self._members = torch.zeros(members, dtype=torch.int64, device=like.device)

    def fill_smoothing(self) -> None:
        """For the next `smoothing`."""
        self._smoothing.copy_(self._draws.smoothing(self._smoothing))

    def fill_members(self) -> None:
        """For the next `members`."""
        self._members.copy_(torch.tensor(self._draws.members()))

    def fill_kept(self) -> None:
        """For the next `kept`."""
        self._kept.copy_(self._draws.kept(self._training))

    def fill_training(self) -> None:
        """For the next `training`."""
        self._training.copy_(self._draws.training(self._training))

    def smoothing(self, like: Tensor) -> Tensor:
        """See `Draws.smoothing`."""
        return self._smoothing

    def members(self) -> Tensor:
        """See `Draws.members`."""
        return self._members

    def kept(self, like: Tensor) -> Tensor:
        """See `Draws.kept`."""
        return self._kept

    def training(self, like: Tensor) -> Tensor:
        """See `Draws.training`."""
        return self._training
