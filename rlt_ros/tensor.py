"""PyTorch for the learning parts; its absence is an error that names the pip extra."""

from __future__ import annotations

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ImportError as error:
    raise ImportError("torch is missing: pip install 'rlt_ros[learn]'") from error

__all__ = ["Tensor", "functional", "nn", "torch"]
