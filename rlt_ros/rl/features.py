"""Features stored once, shared by the overlapping windows that name them, freed with the last of them."""

from __future__ import annotations

import numpy as np

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.types import Features

Key = tuple[str, int]
"""Stream and observation id: ids are unique within one robot's run only."""


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
        self._use_z = config.use_z
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
        self.z[slot] = features.z if self._use_z else 0.0
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
