"""What a sweep runs: a YAML file of cells, each some settings and options of `rlt fast`.

options: {minutes: 7}                        # of every cell
seeds: [1, 2, 3]                             # each cell is run with these, 1 to 5 where nothing stands here
cells:
  default: {}
  no_z: {set: {use_z: false}}
  longer: {options: {minutes: 19, moments: [7, 19]}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlt_ros.strict import ConfigError, load


@dataclass(frozen=True)
class Cell:
    """set: settings, as `rlt fast --set` takes them. options: its other options, without the dashes."""

    set: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def arguments(self, common: Mapping[str, Any]) -> list[str]:
        """Words of the command. common: options of every cell; its own come before them.

        The VLA's own figures are the same for every cell of a seed: those of a cell without settings will do.
        """
        chosen = {**common, **self.options} | ({"no_base": True} if self.set else {})
        words = [word for name, value in chosen.items() for word in _option(name, value)]
        return [*words, *(f"--set={name}={json.dumps(value)}" for name, value in self.set.items())]


@dataclass(frozen=True)
class Plan:
    """The cells by name, the options that they share, and the seeds of each."""

    cells: dict[str, Cell]
    options: dict[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)

    def chosen(self, names: Sequence[str]) -> dict[str, Cell]:
        """Some of the cells, all without names. Raises ConfigError on an unknown one."""
        unknown = [name for name in names if name not in self.cells]
        if unknown:
            raise ConfigError(f"unknown cell {unknown[0]!r}; known are {', '.join(self.cells)}")
        return {name: self.cells[name] for name in names or self.cells}


def load_plan(path: Path) -> Plan:
    """A plan from its file. Raises ConfigError."""
    return load(Plan, path)


def _option(name: str, value: Any) -> list[str]:
    dashed = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [dashed] if value else []
    return [dashed, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
