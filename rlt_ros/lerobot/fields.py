"""Tensors out of mappings, checked; a refusal names the key, what was found and what is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlt_ros.tensor import Tensor, torch


class BatchError(ValueError):
    """A batch that cannot be used."""


def take(holder: Mapping[str, Any], key: str, device: str) -> Tensor:
    """The entry as float32 on a device. Raises BatchError where it is missing."""
    if key not in holder:
        raise BatchError(f"{key} is missing; there are {sorted(holder)}")
    return torch.as_tensor(holder[key]).to(device, torch.float32)


def column(holder: Mapping[str, Any], key: str, rows: int, device: str) -> Tensor:
    """One finite number a row: (B,) or (B, 1), given back as (B,)."""
    value = take(holder, key, device)
    if value.shape == (rows, 1):
        value = value.squeeze(1)
    return finite(key, expect(key, value, (rows,)))


def chunks(holder: Mapping[str, Any], key: str, width: int, device: str) -> Tensor:
    """Steps of `width` numbers: (B, steps, width), or flat."""
    value = take(holder, key, device)
    if value.ndim == 2 and value.shape[1] % width == 0:
        value = value.unflatten(1, (-1, width))
    if value.ndim != 3 or value.shape[2] != width:
        raise misshapen(key, value, f"(B, steps, {width})")
    return value


def expect(key: str, value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The value, whose shape is right. Raises BatchError."""
    if tuple(value.shape) != shape:
        raise misshapen(key, value, str(shape))
    return value


def finite(key: str, value: Tensor) -> Tensor:
    """The value, all of it finite. Raises BatchError naming the first place that is not."""
    if not torch.isfinite(value).all():
        place = torch.nonzero(~torch.isfinite(value))[0].tolist()
        raise BatchError(f"{key}{place} is {float(value[tuple(place)])}; expected a finite number")
    return value


def misshapen(key: str, found: Tensor, expected: str) -> BatchError:
    """The error for a tensor of the wrong shape."""
    return BatchError(f"{key} has shape {tuple(found.shape)}; expected {expected}")
