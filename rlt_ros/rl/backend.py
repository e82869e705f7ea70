"""PyTorch for the learning part; a missing one is named with the extra that brings it."""

from __future__ import annotations

try:
    import torch
except ImportError as error:
    raise ImportError("torch is missing: pip install 'rlt_ros[learn]'") from error

__all__ = ["torch"]
