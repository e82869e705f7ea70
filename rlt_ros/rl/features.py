"""Features stored once, shared by the overlapping windows that name them, freed with the last of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.stored import Key, fill
from rlt_ros.types import Features

NAMES = ("z", "proprio", "reference")


class FeatureStore:
    """Arrays of features by slot, with a count of the rows that use each.

    z: (N, Z), proprio: (N, P), reference: (N, C, A), the first C steps. N: two per row, and two more while a row
    takes the place of another. Zeroed pages cost nothing until they are written: memory grows with the rows
    although the store is laid out at once.
    """

    def __init__(self, config: AgentConfig, dims: Dims) -> None:
        slots = 2 * (config.replay_capacity + 1)
        self.z = np.zeros((slots, dims.z), np.float16 if config.half_precision_z else np.float32)
        self.proprio = np.zeros((slots, dims.proprio), np.float32)
        self.reference = np.zeros((slots, config.chunk, dims.action), np.float32)
        self._users = np.zeros(slots, np.int32)
        self._slots: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, key: object) -> bool:
        return key in self._slots

    def put(self, stream: str, features: Features) -> None:
        """Store features; those already known stay as they are."""
        key = (stream, features.id)
        if key in self._slots:
            return
        slot = self._free.pop() if self._free else len(self._slots)
        self.z[slot] = features.z
        self.proprio[slot] = features.proprio
        self.reference[slot] = features.reference[: self.reference.shape[1]]
        self._slots[key], self._keys[slot] = slot, key

    def use(self, key: Key) -> int:
        """Slot of known features, with one more user."""
        slot = self._slots[key]
        self._users[slot] += 1
        return slot

    def release(self, slot: int) -> None:
        """One user less; without users the slot is free for others."""
        self._users[slot] -= 1
        if self._users[slot] == 0:
            del self._slots[self._keys.pop(slot)]
            self._free.append(slot)

    def packed(self) -> tuple[list[Key], dict[str, np.ndarray], np.ndarray]:
        """Keys and arrays of the stored features without the gaps between them, and the new place of each slot.

        The arrays are views where there is no gap. Do not change them.
        """
        slots = np.fromiter(sorted(self._keys), np.int64, len(self))
        gapless = len(slots) == 0 or int(slots[-1]) == len(slots) - 1
        places = np.zeros(len(self._users), np.int64)
        places[slots] = np.arange(len(slots))
        keys = [self._keys[slot] for slot in slots.tolist()]
        arrays = (getattr(self, name) for name in NAMES)
        return keys, {n: a[: len(slots)] if gapless else a[slots] for n, a in zip(NAMES, arrays)}, places

    def restore(self, keys: Sequence[Key], arrays: Mapping[str, Any], uses: np.ndarray) -> None:
        """Take over packed features, in an empty store. uses: int64, a place for each use of it by a row."""
        for name in NAMES:
            fill(getattr(self, name)[: len(keys)], arrays[name], name)
        self._slots = {key: place for place, key in enumerate(keys)}
        self._keys = dict(enumerate(keys))
        self._users[: len(keys)] = np.bincount(uses, minlength=len(keys))
