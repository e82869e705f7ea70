"""From the deflections of a device to one control step in the action space along the base axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.operator.devices.mapping import DIRECTIONS, DeviceMap


def shaped(value: float, dead_zone: float, curve: float) -> float:
    """A deflection in [-1, 1] after dead zone and curve: 0 within the dead zone, +-1 at the ends, odd, continuous."""
    beyond = max(0.0, min(abs(value), 1.0) - dead_zone) / (1.0 - dead_zone)
    return float(np.copysign(beyond**curve, value))


def twist(device: DeviceMap, axes: Mapping[int | str, float]) -> np.ndarray:
    """Translation and rotation, float64 (6,) in [-1, 1], along the axes of the device's frame. axes: as the device
    gives them; one that it lacks counts as centred."""
    values = np.zeros(len(DIRECTIONS))
    for i, direction in enumerate(DIRECTIONS):
        axis = device.axes.get(direction)
        if axis is not None:
            raw = axes.get(axis.axis, 0.0) / axis.full
            values[i] = axis.scale * shaped(raw, device.dead_zone, device.curve)
    return values


def turned(values: np.ndarray, frame: Rotation) -> np.ndarray:
    """A twist (6,) along the axes of a frame, along the base axes. frame: its orientation in the base frame."""
    return np.concatenate([frame.apply(values[:3]), frame.apply(values[3:])])


def saturated(values: np.ndarray) -> np.ndarray:
    """A twist (6,) within the action space. Translation and rotation are each scaled as a whole, so that none changes
    its direction."""
    parts = (values[:3], values[3:])
    return np.concatenate([part / max(1.0, float(np.abs(part).max())) for part in parts])


def action(parts: Iterable[tuple[np.ndarray, Rotation]], gripper: float) -> np.ndarray:
    """Action float32 (7,) for one control step, out of each device's twist (6,) and the orientation of its axes in the
    base frame. gripper: -1 closes, 1 opens, 0 leaves it as it is held."""
    together = sum((turned(values, frame) for values, frame in parts), np.zeros(len(DIRECTIONS)))
    return np.append(saturated(together), gripper).astype(np.float32)
