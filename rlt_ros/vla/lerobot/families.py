"""In what the three policies differ: prompt, images, final norm of the prefix, the call of the flow-matching loss.

Read in huggingface/lerobot at 7427f318 (0.6.2): `policies/{pi0,pi05,smolvla}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.vla.contract import TokenKind

TOKENS, TOKENS_MASK, STATE = "observation.language.tokens", "observation.language.attention_mask", "observation.state"


class Family(Protocol):
    """One kind of policy. policy: LeRobot's `PreTrainedPolicy` of that kind; batch: what its preprocessor gives."""

    extra: str
    """Of the lerobot package."""
    state_in_prompt: bool
    """Whether the prompt goes on with the state after the instruction."""

    def prompt(self, instruction: str) -> str:
        """The prompt up to where it depends on the observation, as the policy's own processor writes it."""

    def norm(self, policy: Any) -> nn.Module:
        """The final norm of the prefix; it is called once in every pass."""

    def image_tokens(self, policy: Any, batch: dict[str, Tensor]) -> int:
        """Tokens of one image; batch: one observation with images only."""

    def kinds(self, policy: Any, images: int, instruction: int, rest: int) -> list[TokenKind]:
        """Kinds of a prefix with so many image tokens, and prompt tokens of the instruction and after it."""

    def losses(self, policy: Any, batch: dict[str, Tensor], actions: Tensor, noise: Tensor, time: Tensor) -> Tensor:
        """Squared velocity errors (N, chunk, padded A) of normalised, padded actions; one pass."""


class _Pi:
    """What pi0 and pi0.5 share: PaliGemma, prompt padded to a fixed length, masked images where one is missing."""

    extra = "pi"

    def norm(self, policy: Any) -> nn.Module:
        return policy.model.paligemma_with_expert.paligemma.model.language_model.norm

    def image_tokens(self, policy: Any, batch: dict[str, Tensor]) -> int:
        images, _ = policy._preprocess_images(batch)
        return policy.model.paligemma_with_expert.embed_image(images[0]).shape[1]


class Pi05(_Pi):
    """pi0.5: the state stands in the prompt, in words."""

    state_in_prompt = True

    def prompt(self, instruction: str) -> str:
        cleaned = instruction.strip().replace("_", " ").replace("\n", " ")
        return f"Task: {cleaned}, State:"

    def kinds(self, policy: Any, images: int, instruction: int, rest: int) -> list[TokenKind]:
        words = [TokenKind.INSTRUCTION] * instruction + [TokenKind.STATE] * rest
        return [TokenKind.IMAGE] * images + words

    def losses(self, policy: Any, batch: dict[str, Tensor], actions: Tensor, noise: Tensor, time: Tensor) -> Tensor:
        images, masks = policy._preprocess_images(batch)
        return policy.model.forward(images, masks, batch[TOKENS], batch[TOKENS_MASK], actions, noise, time)


class Pi0(_Pi):
    """pi0: the state is a token of the action expert, so the prefix has none."""

    state_in_prompt = False

    def prompt(self, instruction: str) -> str:
        return instruction if instruction.endswith("\n") else instruction + "\n"

    def kinds(self, policy: Any, images: int, instruction: int, rest: int) -> list[TokenKind]:
        return [TokenKind.IMAGE] * images + [TokenKind.INSTRUCTION] * (instruction + rest)

    def losses(self, policy: Any, batch: dict[str, Tensor], actions: Tensor, noise: Tensor, time: Tensor) -> Tensor:
        images, masks = policy._preprocess_images(batch)
        state = policy.prepare_state(batch)
        return policy.model.forward(images, masks, batch[TOKENS], batch[TOKENS_MASK], state, actions, noise, time)


class SmolVLA:
    """SmolVLA: the state is the last token of the prefix, which may be padded to a fixed length."""

    extra = "smolvla"
    state_in_prompt = False

    def prompt(self, instruction: str) -> str:
        return instruction if instruction.endswith("\n") else instruction + "\n"

    def norm(self, policy: Any) -> nn.Module:
        return policy.model.vlm_with_expert.get_vlm_model().text_model.norm

    def image_tokens(self, policy: Any, batch: dict[str, Tensor]) -> int:
        images, _ = policy.prepare_images(batch)
        special = 3 if policy.config.add_image_special_tokens else 0
        return policy.model.vlm_with_expert.embed_image(images[0]).shape[1] + special

    def kinds(self, policy: Any, images: int, instruction: int, rest: int) -> list[TokenKind]:
        words = [TokenKind.INSTRUCTION] * (instruction + rest)
        known = [TokenKind.IMAGE] * images + words + [TokenKind.STATE]
        # Padding; INSTRUCTION, because those tokens never reach the RL token.
        return known + [TokenKind.INSTRUCTION] * (policy.config.prefix_length - len(known))

    def losses(self, policy: Any, batch: dict[str, Tensor], actions: Tensor, noise: Tensor, time: Tensor) -> Tensor:
        images, masks = policy.prepare_images(batch)
        state = policy.prepare_state(batch)
        return policy.model.forward(images, masks, batch[TOKENS], batch[TOKENS_MASK], state, actions, noise, time)


FAMILIES: dict[str, Family] = {"pi05": Pi05(), "pi0": Pi0(), "smolvla": SmolVLA()}
"""By LeRobot's name of the policy."""


def common_start(rows: Sequence[Sequence[int]]) -> list[int]:
    """The numbers with which all rows begin."""
    start: list[int] = []
    for column in zip(*rows):
        if len(set(column)) > 1:
            break
        start.append(column[0])
    return start


def sample_time(policy: Any, n: int, device: torch.device, generator: torch.Generator) -> Tensor:
    """Flow times (n,) from the policy's own distribution, decided by a generator on the processor."""
    seed = int(torch.randint(2**62, (1,), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return policy.model.sample_time(n, device)
