"""The prefix of a LeRobot policy, taken out of a pass that runs anyway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rlt_ros.tensor import Tensor, nn


class Prefix:
    """Hidden states after the final norm and the padding mask of one pass."""

    def __init__(self) -> None:
        self._hidden: list[Tensor] = []
        self._mask: list[Tensor] = []

    def take(self) -> tuple[Tensor, Tensor]:
        """Tokens float32 (N, M, D) and mask bool (N, M). Raises RuntimeError unless there was one prefill."""
        if len(self._hidden) != 1 or len(self._mask) != 1:
            raise RuntimeError(
                f"prefix computed {len(self._hidden)} times and embedded {len(self._mask)} times in a pass"
            )
        return self._hidden[0].float(), self._mask[0].bool()


@contextmanager
def captured(policy: Any, norm: nn.Module) -> Iterator[Prefix]:
    """What passes through a policy inside the context is kept.

    The policies call `forward` of their parts directly, which no hook sees, but their norms as modules.
    """
    prefix, model = Prefix(), policy.model
    embed = model.embed_prefix

    def embed_prefix(*args: Any, **kwargs: Any) -> Any:
        result = embed(*args, **kwargs)
        prefix._mask.append(result[1])
        return result

    def keep(_module: nn.Module, _inputs: Any, output: Any) -> None:
        prefix._hidden.append(output[0] if isinstance(output, tuple) else output)

    model.embed_prefix = embed_prefix
    hook = norm.register_forward_hook(keep)
    try:
        yield prefix
    finally:
        hook.remove()
        del model.embed_prefix
