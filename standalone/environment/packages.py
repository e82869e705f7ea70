"""The virtual environment and the packages in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from layout import Layout
from mend import mend_exports
from process import run
from stamps import Stamps, fingerprint

STAGE = "packages"


def key(layout: Layout) -> str:
    """Fingerprint of the requirements, of the Python and of the place (a moved environment does not work)."""
    return fingerprint([layout.requirements, Path(__file__).with_name("mend.py")], sys.version, str(layout.venv))


def install(layout: Layout, stamps: Stamps, on_line: Callable[[str], None]) -> None:
    """Create the environment where needed, install the requirements and mend the wheels' CMake exports."""
    log = layout.log(STAGE)
    if stamps.interrupted(STAGE) or not _usable(layout):
        # pip takes a package whose copying was cut short for installed, so nothing of an interrupted run is kept.
        shutil.rmtree(layout.venv, ignore_errors=True)
        run([sys.executable, "-m", "venv", layout.venv], log)

    def watch(line: str) -> None:
        if line.startswith(("Installing collected", "Attempting uninstall")):
            stamps.begin(STAGE)
        on_line(line)

    pip = [layout.python, "-m", "pip", "install", "--progress-bar", "off", "--disable-pip-version-check"]
    run([*pip, "--requirement", layout.requirements], log, on_line=watch)
    include, numpy_include = _include_folders(layout)
    mend_exports(layout.venv, include, numpy_include)
    stamps.end(STAGE, key(layout))


def _usable(layout: Layout) -> bool:
    """Whether the environment exists, at the place that it was made for, with a Python that is still there."""
    try:
        pip = (layout.venv / "bin" / "pip").read_text()
    except OSError:
        return False
    return layout.python.exists() and f"{layout.venv}/bin/python" in pip


def _include_folders(layout: Layout) -> tuple[Path, Path]:
    code = "import sys, sysconfig, numpy; print(sysconfig.get_paths()['include'], numpy.get_include(), sep='\\n')"
    lines: list[str] = []
    run([layout.python, "-c", code], layout.log(STAGE), on_line=lines.append)
    return Path(lines[-2]), Path(lines[-1])
