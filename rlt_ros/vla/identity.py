"""Which model is this: a hash over configuration and weights."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rlt_ros.tensor import nn

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def identity(config: DataclassInstance | dict[str, Any], model: nn.Module) -> str:
    """SHA-256 of a configuration and of every tensor of a model with name, type and shape; the device is no part."""
    content = config if isinstance(config, dict) else asdict(config)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
