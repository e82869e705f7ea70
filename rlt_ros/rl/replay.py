"""Rows in a ring, features shared between them, batches as tensors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.facts import Facts
from rlt_ros.rl.features import FeatureStore
from rlt_ros.rl.rows import check_known
from rlt_ros.rl.sampling import Sampler
from rlt_ros.rl.stored import Stored, fill
from rlt_ros.tensor import torch
from rlt_ros.types import Driver, Label, Transition

Tensor = torch.Tensor


class NotEnoughRows(RuntimeError):
    """Fewer rows than two batches: an update would see the same rows again and again."""


@dataclass(frozen=True)
class Batch:
    """B rows of the replay, float32 unless stated.

    state, next_state: (B, S), z and proprio. reference, next_reference: (B, C, A), raw chunks of the VLA.
    action: (B, C, A), executed, zero beyond the horizon. human, valid: (B, C), 1 or 0. rewards: (B, C).
    horizon: (B,), executed steps. terminated: (B,), 1 where the phase had its outcome; next_* repeat the current ones
    there unless `bootstrap_type` "always" has them follow the outcome. mc_return: (B,), discounted return that the
    phase earned, NaN where it was aborted.
    row: int64 (B,), count of rows before it in the run.
    """

    state: Tensor
    reference: Tensor
    action: Tensor
    human: Tensor
    valid: Tensor
    rewards: Tensor
    horizon: Tensor
    terminated: Tensor
    next_state: Tensor
    next_reference: Tensor
    mc_return: Tensor
    row: Tensor

    def to(self, device: str) -> Batch:
        """The same batch on a device."""
        return self if device == "cpu" else replace(self, **{k: v.to(device) for k, v in vars(self).items()})


class Replay:
    """Ring of rows. Safe for one thread that adds and another that samples: no row is ever seen half written."""

    def __init__(self, config: AgentConfig, dims: Dims) -> None:
        self._config = config
        self._features = FeatureStore(config, dims)
        self._sampler = Sampler(config)
        n, c = config.replay_capacity, config.chunk
        self._columns = {
            "start": np.zeros(n, np.int64),
            "next": np.zeros(n, np.int64),
            "action": np.zeros((n, c, dims.action), np.float32),
            "human": np.zeros((n, c), np.float32),
            "rewards": np.zeros((n, c), np.float32),
            "horizon": np.zeros(n, np.float32),
            "terminated": np.zeros(n, np.float32),
            "mc_return": np.zeros(n, np.float32),
            "row": np.zeros(n, np.int64),
        }
        self._facts = Facts(n, c)
        self._tensors = {name: torch.from_numpy(column) for name, column in self._columns.items()}
        self._z, self._proprio, self._reference = (
            torch.from_numpy(a) for a in (self._features.z, self._features.proprio, self._features.reference)
        )
        self._steps = torch.arange(c, dtype=torch.float32)
        self._held: dict[tuple[str, int], int] = {}
        self._order: list[tuple[str, int]] = []
        self._added = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return min(self._added, self._config.replay_capacity)

    @property
    def added(self) -> int:
        """Rows added since the run began."""
        return self._added

    @property
    def evicted(self) -> int:
        """Rows that newer ones have pushed out."""
        return self._added - len(self)

    @property
    def window(self) -> int:
        """Rows that batches are drawn from: the newest `sample_window`, or all."""
        with self._lock:
            return self._sampler.window

    @property
    def human_rows(self) -> int:
        """Rows with a human step among those that batches are drawn from."""
        with self._lock:
            return self._sampler.human_rows

    @property
    def human_share(self) -> float:
        """Share of a batch drawn from rows with a human step: the configured one, or 0 where there is no such row."""
        with self._lock:
            return self._sampler.human_share(self._config.batch)

    @property
    def observations(self) -> int:
        """Observations whose features are stored."""
        return len(self._features)

    def check(self, row: Transition) -> None:
        """Raises RowError if the row names features that neither it nor a stored row has brought."""
        with self._lock:
            check_known(row, self._features)

    def add(self, row: Transition) -> bool:
        """Store a checked row; False if this (stream, id) is stored already. Raises RowError as `check` does."""
        with self._lock:
            if (row.stream, row.id) in self._held:
                return False
            check_known(row, self._features)
            for features in row.features:
                self._features.put(row.stream, features)
            slot = self._added % self._config.replay_capacity
            start = self._features.use((row.stream, row.features_id))
            following = self._features.use((row.stream, row.next_features_id or row.features_id))
            if self._added >= self._config.replay_capacity:
                self._evict(slot)
            self._write(slot, row, start, following)
            self._added += 1
            self._sampler.add(bool(self._columns["human"][slot].any()))
        return True

    def sample(self, batch: int, generator: torch.Generator) -> Batch:
        """Rows drawn with replacement as `Sampler` says. Raises NotEnoughRows below two batches."""
        with self._lock:
            rows = self._sampler.window
            if rows < 2 * batch:
                raise NotEnoughRows(f"{rows} rows in the replay; a batch of {batch} needs {2 * batch}")
            return self._gather(self._sampler.draw(batch, generator))

    def human_rate(self) -> float:
        """Share of human steps among the executed ones."""
        with self._lock:
            steps = float(self._columns["horizon"][: len(self)].sum())
            return float(self._columns["human"][: len(self)].sum()) / steps if steps else 0.0

    @contextmanager
    def held(self) -> Iterator[Stored]:
        """All rows as arrays that stand still for as long as the caller has them. Do not change them."""
        with self._lock:
            n = len(self)
            feature_keys, features, places = self._features.packed()
            columns = {name: column[:n] for name, column in {**self._columns, **self._facts.columns}.items()}
            columns |= {name: places[columns[name]] for name in ("start", "next")}
            yield Stored(self._added, self._order, columns, feature_keys, features)

    def restore(self, stored: Stored) -> None:
        """Take over stored rows, in an empty replay of the same capacity: every sample is then what it would have been.

        Raises ValueError if it is not empty, or naming a column that is missing or does not fit.
        """
        if self._added:
            raise ValueError(f"a replay with {self._added} rows of its own cannot take over {stored.added} others")
        columns = self._columns | self._facts.columns
        if set(columns) != set(stored.columns):
            raise ValueError(f"stored columns are {sorted(stored.columns)}; expected {sorted(columns)}")
        with self._lock:
            n = len(stored.keys)
            for name, column in columns.items():
                fill(column[:n], stored.columns[name], name)
            uses = np.concatenate([self._columns[name][:n] for name in ("start", "next")])
            self._features.restore(stored.feature_keys, stored.features, uses)
            self._order = list(stored.keys)
            self._held = {key: place for place, key in enumerate(self._order)}
            self._added = stored.added
            numbers, human = self._columns["row"][:n], self._columns["human"][:n].any(axis=1)
            self._sampler.restore(stored.added, numbers, human)

    def _write(self, slot: int, row: Transition, start: int, following: int) -> None:
        h = row.valid_horizon
        c = self._columns
        c["start"][slot], c["next"][slot] = start, following
        for name in ("action", "human", "rewards"):
            c[name][slot] = 0.0
        c["action"][slot, :h] = row.actions[:h]
        c["human"][slot, :h] = row.drivers[:h] == Driver.HUMAN
        c["rewards"][slot, :h] = row.rewards[:h]
        c["horizon"][slot] = h
        c["terminated"][slot] = row.terminated
        c["mc_return"][slot] = monte_carlo_return(row, self._config.gamma)
        c["row"][slot] = self._added
        self._facts.write(slot, row)
        key = (row.stream, row.id)
        self._held[key] = slot
        self._order[slot : slot + 1] = [key]

    def _evict(self, slot: int) -> None:
        for name in ("start", "next"):
            self._features.release(int(self._columns[name][slot]))
        del self._held[self._order[slot]]

    def _gather(self, index: Tensor) -> Batch:
        column = {name: t.index_select(0, index) for name, t in self._tensors.items()}
        start, following = column.pop("start"), column.pop("next")
        valid = (self._steps < column["horizon"].unsqueeze(1)).float()
        return Batch(
            state=self._state(start),
            next_state=self._state(following),
            reference=self._reference.index_select(0, start),
            next_reference=self._reference.index_select(0, following),
            valid=valid,
            **column,
        ).to(self._config.device)

    def _state(self, slots: Tensor) -> Tensor:
        z, proprio = self._z.index_select(0, slots), self._proprio.index_select(0, slots)
        state = torch.empty(len(slots), z.shape[1] + proprio.shape[1])
        state[:, : z.shape[1]] = z
        state[:, z.shape[1] :] = proprio
        return state


def monte_carlo_return(row: Transition, gamma: float) -> float:
    """Discounted return that the phase earned from the row's start: 0 for a failure, NaN for an aborted phase."""
    if row.label == Label.SUCCESS:
        return gamma ** (row.steps_to_end - 1)
    return 0.0 if row.label == Label.FAILURE else float("nan")
