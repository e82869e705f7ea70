"""Which model is this: a hash over configuration and weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rlt_ros.tensor import Tensor, nn, torch

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def identity(config: DataclassInstance | dict[str, Any], model: nn.Module | Mapping[str, Tensor]) -> str:
    """SHA-256 of a configuration and of every tensor of a model with name, type and shape; the device is no part."""
    content = config if isinstance(config, dict) else asdict(config)
    tensors = model.state_dict() if isinstance(model, nn.Module) else model
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        # As bytes: numpy has no bfloat16.
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()
