"""What the numbers in stored rows mean: written beside them, compared by everyone who reads them later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlt_ros.files import write_whole
from rlt_ros.rl.config import Dims
from rlt_ros.rl.learner import Learner
from rlt_ros.strict import build

FILE = "origin.json"
"""Its place in the journal's directory."""


class OriginMismatch(RuntimeError):
    """Rows that mean something else; names the file, the field and both values."""


@dataclass(frozen=True)
class Origin:
    """Where rows come from."""

    contract: str  # fingerprint of the Stage-1 contract
    chunk: int  # C, control steps of a row
    dims: Dims  # sizes of z, proprio and action
    translation_mm: float  # millimetres per control step at |a| = 1

    @staticmethod
    def of(learner: Learner) -> Origin:
        """The origin of the rows that a learner takes."""
        return Origin(learner.contract, learner.config.chunk, learner.dims, learner.translation_mm)

    @staticmethod
    def of_state(state: Mapping[str, Any], where: str) -> Origin:
        """The origin of the rows of a checkpoint, from its state.json. Raises ConfigError."""
        values = {name: state[name] for name in ("contract", "dims", "translation_mm")}
        return build(Origin, values | {"chunk": state["config"]["chunk"]}, where)

    def check(self, other: Origin, where: str) -> None:
        """Raises OriginMismatch at the first field in which this one, read from `where`, differs from the other."""
        for name, theirs in asdict(other).items():
            mine = asdict(self)[name]
            if mine != theirs:
                raise OriginMismatch(f"{where}: {name} is {mine!r}; this run has {theirs!r}")


def read_origin(directory: Path) -> Origin | None:
    """The origin of the rows in a journal's directory, None where none is noted. Raises ConfigError."""
    path = directory / FILE
    return build(Origin, json.loads(path.read_text()), str(path)) if path.exists() else None


def claim(directory: Path, origin: Origin) -> None:
    """Note the origin of the rows that a journal's directory will hold. Raises OriginMismatch if it holds others."""
    noted = read_origin(directory)
    if noted is None:
        write_whole(directory / FILE, (json.dumps(asdict(origin), indent=1) + "\n").encode())
    else:
        noted.check(origin, str(directory / FILE))
