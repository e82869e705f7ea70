"""What a bag looks like from outside, for those who need not read it."""

from __future__ import annotations

from pathlib import Path


def is_bag(path: Path) -> bool:
    """Whether a path looks like a bag, finished or not."""
    if path.suffix in (".mcap", ".db3"):
        return path.is_file()
    return path.is_dir() and ((path / "metadata.yaml").is_file() or any(path.glob("*.mcap*")))


def is_finished(path: Path) -> bool:
    """Whether its recorder ended it: a killed one leaves no metadata."""
    return path.is_file() or (path / "metadata.yaml").is_file()
