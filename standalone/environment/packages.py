"""The virtual environment and the packages in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

from layout import Layout
from mend import mend_exports
from process import run
from stamps import Stamps, fingerprint

STAGE = "packages"
BYTECODE = "bytecode"
# The one library call behind `python -m compileall`, which would fail for a file that is meant for another Python.
_COMPILE = """
import compileall, re, sys
compileall.compile_dir(sys.argv[1], quiet=2, workers=0, rx=re.compile(r"/tests?/|/testing/_internal/"))
"""


def key(layout: Layout) -> str:
    """Fingerprint of the requirements, of the Python and of the place (a moved environment does not work)."""
    return fingerprint([layout.requirements, Path(__file__).with_name("mend.py")], sys.version, str(layout.venv))


def install(layout: Layout, stamps: Stamps, on_line: Callable[[str], None]) -> None:
    """Create the environment where needed, install the requirements and mend the wheels' CMake exports."""
    log, inputs = layout.log(STAGE), key(layout)
    if stamps.interrupted(STAGE) or not _usable(layout):
        # pip takes a package whose copying was cut short for installed, so nothing of an interrupted run is kept.
        shutil.rmtree(layout.venv, ignore_errors=True)
        run([sys.executable, "-m", "venv", layout.venv], log)

    def watch(line: str) -> None:
        if line.startswith("Installing collected packages"):
            stamps.begin(STAGE)
        if line.startswith(("Collecting ", "Installing ")):
            on_line(line)

    quiet = ["--progress-bar", "off", "--disable-pip-version-check"]
    command = [layout.python, "-m", "pip", "install", *quiet, "--no-compile", "--requirement", layout.requirements]
    run(command, log, on_line=watch)
    include, numpy_include = _include_folders(layout)
    mend_exports(layout.venv, include, numpy_include)
    stamps.end(STAGE, inputs)


def compile_bytecode(layout: Layout, stamps: Stamps, priority: list[str], cancelled: Event) -> None:
    """Compile the packages' Python code: half a minute that pip would spend before anything else can begin."""
    inputs = key(layout)
    command = [*priority, layout.python, "-c", _COMPILE, layout.site_packages()]
    run(command, layout.log(BYTECODE), cancelled=cancelled)
    stamps.end(BYTECODE, inputs)


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
