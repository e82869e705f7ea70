"""Messages, services and actions compiled into the environment: ours and the vendored ones, in one CMake project."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event

import activation
import packages
from layout import Layout
from process import run
from stamps import Stamps, fingerprint

STAGE = "interfaces"
_STEP = re.compile(r"^\[(\d+)/(\d+)\]")
# -O1 compiles faster than -O2 and (de)serialises as fast; without NDEBUG a wrong field type aborts the process.
_FLAGS = "-O1 -DNDEBUG"


def sources(layout: Layout) -> list[Path]:
    """Files that the result depends on."""
    ours = [layout.root / "package.xml", layout.root / "CMakeLists.txt"]
    ours += [*layout.root.glob("msg/*.msg"), *layout.root.glob("srv/*.srv"), *layout.root.glob("action/*.action")]
    return [*ours, *(path for path in layout.interfaces.rglob("*") if path.is_file())]


def key(layout: Layout) -> str:
    """Fingerprint of the definitions and of the environment that they are compiled into."""
    return fingerprint(sources(layout), packages.key(layout), _FLAGS)


def compile_all(
    layout: Layout, stamps: Stamps, priority: list[str], on_fraction: Callable[[float], None], cancelled: Event
) -> None:
    """Configure, compile and install; after an edit only what changed is compiled.

    priority: command that the compiler runs under, such as nice. on_fraction gets 0 to 1.
    """
    log, inputs = layout.log(STAGE), key(layout)
    stamps.begin(STAGE)
    _forget_other_environment(layout)
    env = activation.environment(layout, dict(os.environ))

    def watch(line: str) -> None:
        step = _STEP.match(line)
        if step is not None:
            on_fraction(int(step[1]) / int(step[2]))

    run(_configure(layout), log, env=env, cancelled=cancelled)
    jobs = str(len(os.sched_getaffinity(0)))
    build = [*priority, "cmake", "--build", layout.build, "--parallel", jobs]
    run(build, log, env=env, on_line=watch, cancelled=cancelled)
    # Modules of removed messages must not stay importable.
    shutil.rmtree(layout.generated, ignore_errors=True)
    run(["cmake", "--install", layout.build], log, env=env, cancelled=cancelled)
    stamps.end(STAGE, inputs)


def _configure(layout: Layout) -> list[str | Path]:
    return [
        "cmake", "-S", layout.interfaces, "-B", layout.build, "-G", "Ninja",
        f"-DCMAKE_INSTALL_PREFIX={layout.venv}",
        f"-DPYTHON_INSTALL_DIR={layout.generated.relative_to(layout.venv)}",
        f"-DPython3_EXECUTABLE={layout.python}",
        "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_C_FLAGS={_FLAGS}", f"-DCMAKE_CXX_FLAGS={_FLAGS}", "-DBUILD_TESTING=OFF",
    ]  # fmt: skip


def _forget_other_environment(layout: Layout) -> None:
    """CMake remembers paths and versions of the packages that it configured against."""
    mark, now = layout.build / "packages.key", packages.key(layout)
    if not mark.exists() or mark.read_text() != now:
        shutil.rmtree(layout.build, ignore_errors=True)
        layout.build.mkdir(parents=True)
        mark.write_text(now)
