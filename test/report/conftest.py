"""Runs that the tests of the report share; whoever changes one copies it first."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory of a run that ended as planned."""
    pytest.importorskip("torch")
    from small_run import run_into

    path = tmp_path_factory.mktemp("runs") / "monday"
    run_into(path)
    return path


@pytest.fixture()
def copy(finished: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of it under a name, to be damaged."""
    return lambda name: Path(shutil.copytree(finished, tmp_path / name))
