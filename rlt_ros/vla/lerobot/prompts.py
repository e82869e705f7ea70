"""Which tokens of a policy's prompt are the instruction: counted once, and checked in every batch."""

from __future__ import annotations

from functools import lru_cache

from rlt_ros.tensor import Tensor
from rlt_ros.vla.lerobot.families import TOKENS, TOKENS_MASK, common_start
from rlt_ros.vla.lerobot.loading import Loaded


class Prompts:
    """The prompt of a policy: what its tokenizer makes of an instruction."""

    def __init__(self, loaded: Loaded) -> None:
        self._family = loaded.family
        self._step = next(step for step in loaded.before.steps if hasattr(step, "input_tokenizer"))
        if loaded.family.state_in_prompt:
            # Its length follows the digits of the state; M must not.
            self._step.padding = "max_length"
        self.start = lru_cache(maxsize=16)(self._start)

    def lengths(self, instruction: str) -> tuple[int, int]:
        """Tokens of the instruction, and those that follow it: state and padding. Raises ValueError if too long."""
        first = len(self.start(instruction))
        if first > self._step.max_length:
            raise ValueError(
                f"instruction: {first} tokens in {instruction!r}; the policy takes {self._step.max_length}"
            )
        whole = self._step.max_length if self._step.padding == "max_length" else first
        return first, whole - first

    def check(self, instruction: str, ready: dict[str, Tensor]) -> None:
        """Raise ValueError unless a preprocessed batch begins with the instruction's tokens and was not cut off."""
        first, _ = self.lengths(instruction)
        start = ready[TOKENS].new_tensor(self.start(instruction))
        if not (ready[TOKENS][:, :first] == start).all():
            raise ValueError(f"prompt: does not begin as counted for {instruction!r}; is this another lerobot version?")
        if self._family.state_in_prompt and ready[TOKENS_MASK][:, -1].any():
            raise ValueError(f"prompt: instruction and state do not fit into {self._step.max_length} tokens")

    def _start(self, instruction: str) -> tuple[int, ...]:
        text = self._family.prompt(instruction)
        ends = (" 0", " 255") if self._family.state_in_prompt else ("",)
        return tuple(common_start([self._step.input_tokenizer(text + end)["input_ids"] for end in ends]))
