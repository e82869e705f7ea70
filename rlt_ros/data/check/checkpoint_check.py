"""Whether a Stage-1 checkpoint would read this dataset as its own: the contract, and its normalisation (report A26)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.data.check.findings import ERROR, WARNING, Finding
from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.meaning import Meaning
from rlt_ros.data.check.signals import Signals
from rlt_ros.data.check.tally import Tally
from rlt_ros.data.contract import Contract, ContractMismatch, compare, read_contract, robot_terms
from rlt_ros.data.norm import CONSTANT, NormStats

CODE = "checkpoint"


class CheckpointCheck:
    """Counts frames outside a checkpoint's q01 to q99. Raises ValueError where the checkpoint cannot be read."""

    def __init__(self, checkpoint: Path, limits: Limits) -> None:
        self.contract: Contract = read_contract(checkpoint)
        self.norm = NormStats.load(checkpoint / "norm_stats.json")
        self._limits = limits
        self._outside = np.zeros(len(self.norm.names), dtype=np.int64)
        self._frames = 0
        slack = limits.norm_margin * (self.norm.q99 - self.norm.q01) + CONSTANT
        self.lower, self.upper = self.norm.q01 - slack, self.norm.q99 + slack

    def add(self, state: Signals | None) -> None:
        """Count an episode's state, if it has the checkpoint's entries."""
        if state is not None and set(self.norm.names) <= set(state.names):
            values = state.of(self.norm.names)
            self._outside += ((values < self.lower) | (values > self.upper)).sum(axis=0)
            self._frames += len(state.values)

    @property
    def shares(self) -> dict[str, float]:
        """Share of frames outside by dimension; empty where the layouts differ."""
        return dict(zip(self.norm.names, (self._outside / self._frames).tolist())) if self._frames else {}

    def findings(self, tally: Tally, meaning: Meaning | None) -> Iterator[Finding]:
        """What does not fit."""
        yield from self._terms(meaning)
        yield from self._instruction(tally)
        names = tally.names.get("state")
        if not self._frames:
            found = f"state {list(names or ()) or 'of unknown layout: no mapping'}"
            yield Finding(ERROR, CODE, found, f"{list(self.norm.names)} in the checkpoint", column="state")
        for name, share in self.shares.items():
            if share > self._limits.norm_warning:
                yield self._beyond(tally, name, share)

    def bounds(self, name: str) -> tuple[float, float] | None:
        """Widened q01 and q99 of a dimension; None where the checkpoint has none."""
        if name not in self.shares:
            return None
        dim = self.norm.names.index(name)
        return float(self.lower[dim]), float(self.upper[dim])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"fingerprint": self.contract.fingerprint, "frames": self._frames, "outside": self.shares}

    def _terms(self, meaning: Meaning | None) -> Iterator[Finding]:
        contract = self.contract
        terms = [("normalisation statistics", contract.norm_hash, self.norm.hash)]
        if meaning is not None:
            robot = robot_terms(meaning.robot).items()
            # Which entries of the state it reads is a matter of its statistics, below.
            terms += [(name, getattr(contract, name), value) for name, value in robot if name != "proprio_names"]
            terms.append(("cameras", sorted(contract.cameras), sorted(meaning.mapping.cameras)))
        for name, theirs, ours in terms:
            try:
                compare(name, theirs, ours)
            except ContractMismatch:
                yield Finding(ERROR, CODE, f"{name}: {ours!r} here", f"{theirs!r} in the checkpoint")

    def _instruction(self, tally: Tally) -> Iterator[Finding]:
        there = sorted({task for episode in tally.episodes for task in episode.tasks})
        if there and self.contract.instruction not in there:
            yield Finding(WARNING, CODE, f"instruction: {there}", f"{self.contract.instruction!r} in the checkpoint")

    def _beyond(self, tally: Tally, name: str, share: float) -> Finding:
        dim, (lower, upper) = tally.names["state"].index(name), self.bounds(name)
        marks, column = tally.quantiles("state")[:, dim], tally.columns["state"][dim]
        found = f"{share:.1%} of the frames outside the checkpoint's q01 to q99, widened "
        found += f"({lower:.4g} to {upper:.4g}); here {marks[1]:.4g} to {marks[3]:.4g}"
        severity, bound = ERROR, self._limits.norm_error
        if share <= bound:
            severity, bound = WARNING, self._limits.norm_warning
        return Finding(severity, "outside-norm", found, f"at most {bound:.0%}", column=column)
