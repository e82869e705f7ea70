"""What a row must look like before anything keeps it. A refusal names the field, what was found and what is needed."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.types import Driver, Features, Label, Transition

POLICY_DRIVERS = (Driver.VLA, Driver.ACTOR, Driver.HUMAN)


class RowError(ValueError):
    """A transition that cannot be used."""


@dataclass(frozen=True)
class RowSpec:
    """Shapes of the rows of a run. A reference may be longer than the chunk (H >= C); the first C steps count.

    outcome_seen: a terminated row names the observation that followed it, which `bootstrap_type` "always" needs.
    """

    chunk: int
    dims: Dims
    outcome_seen: bool = False

    @staticmethod
    def of(config: AgentConfig, dims: Dims) -> RowSpec:
        """The spec of an agent."""
        return RowSpec(config.chunk, dims, config.bootstrap_type == "always")

    def check(self, row: Transition) -> None:
        """Raises RowError unless the row alone makes sense: shapes, finite values, horizon, drivers, end of phase."""
        where = f"row {row.id} of stream {row.stream!r}"
        _array(where, "actions", row.actions, (self.chunk, self.dims.action))
        _array(where, "rewards", row.rewards, (self.chunk,))
        _array(where, "drivers", row.drivers, (self.chunk,))
        _need(where, "valid_horizon", row.valid_horizon, 1 <= row.valid_horizon <= self.chunk, f"1..{self.chunk}")
        driven = row.drivers[: row.valid_horizon].tolist()
        _need(where, "drivers", driven, set(driven) <= set(POLICY_DRIVERS), "VLA, actor or human in every valid step")
        self._check_end(where, row)
        named = (row.features_id, row.next_features_id)
        for features in row.features:
            _need(where, "features.id", features.id, features.id > 0 and features.id in named, f"one of {named}")
            self.check_features(f"{where}, features {features.id}", features)

    def check_features(self, where: str, features: Features) -> None:
        """Raises RowError unless shapes and values fit; a reference outside [-1, 1] is beyond the bounded actor."""
        _array(where, "z", features.z, (self.dims.z,))
        _array(where, "proprio", features.proprio, (self.dims.proprio,))
        shape = np.shape(features.reference)
        fits = len(shape) == 2 and shape[0] >= self.chunk and shape[1] == self.dims.action
        _need(where, "reference shape", shape, fits, f"(H >= {self.chunk}, {self.dims.action})")
        _array(where, "reference", features.reference, shape)
        largest = float(np.abs(features.reference).max())
        _need(where, "reference magnitude", largest, largest <= 1.0, "at most 1")

    def _check_end(self, where: str, row: Transition) -> None:
        both = row.terminated and row.truncated
        _need(where, "terminated and truncated", both, not both, "at most one of them")
        ended = row.terminated or row.truncated
        whole = row.valid_horizon == self.chunk or ended
        _need(where, "valid_horizon", row.valid_horizon, whole, f"{self.chunk} in a phase that goes on")
        labelled = not row.terminated or row.label in (Label.SUCCESS, Label.FAILURE)
        _need(where, "label", row.label, labelled, "success or failure where terminated")
        named = (row.next_features_id == 0) == (row.terminated and not self.outcome_seen)
        ended = "an observation (bootstrap_type is 'always')" if self.outcome_seen else "0"
        expected = f"{ended} where terminated, else an observation"
        _need(where, "next_features_id", row.next_features_id, named, expected)
        _need(where, "features_id", row.features_id, row.features_id > 0, "an observation")
        moved = row.next_features_id != row.features_id
        _need(where, "next_features_id", row.next_features_id, moved, "another observation than features_id")
        reaches = row.steps_to_end >= row.valid_horizon
        _need(where, "steps_to_end", row.steps_to_end, reaches, f"at least valid_horizon ({row.valid_horizon})")


def check_known(row: Transition, known: Container[tuple[str, int]]) -> None:
    """Raises RowError if the row names features that it does not carry and that are not known for its stream."""
    carried = {f.id for f in row.features}
    for name in ("features_id", "next_features_id"):
        wanted = getattr(row, name)
        if wanted and wanted not in carried and (row.stream, wanted) not in known:
            where = f"row {row.id} of stream {row.stream!r}"
            raise RowError(f"{where}: {name} is {wanted}; no row has carried its features")


def _need(where: str, name: str, found: object, fine: bool, expected: str) -> None:
    if not fine:
        raise RowError(f"{where}: {name} is {found}; expected {expected}")


def _array(where: str, name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    _need(where, f"{name} shape", np.shape(array), np.shape(array) == shape, str(shape))
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0].tolist()
        raise RowError(f"{where}: {name}{index} is {array[tuple(index)]}; expected a finite value")
