"""What a check has found, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a dataset, and where.

    severity: ERROR if Stage 1 must not start with it, else WARNING. code: the kind, a word for programs. found and
    expected: both values, in words. episode, frame: None where the whole dataset or the whole episode is meant. column:
    "column/element", camera key or file; may be empty.
    """

    severity: str
    code: str
    found: str
    expected: str
    episode: int | None = None
    frame: int | None = None
    column: str = ""

    @property
    def where(self) -> str:
        """The place in words."""
        parts = [f"episode {self.episode}"] if self.episode is not None else []
        parts += [f"frame {self.frame}"] if self.frame is not None else []
        return ", ".join(parts + ([self.column] if self.column else [])) or "dataset"

    def __str__(self) -> str:
        expected = f"; {self.expected}" if self.expected else ""
        return f"{self.severity:<7} {self.code}: {self.where}: {self.found}{expected}"

    def to_dict(self) -> dict[str, Any]:
        """The content for JSON."""
        return asdict(self)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Those with which Stage 1 must not start."""
    return [finding for finding in findings if finding.severity == ERROR]
