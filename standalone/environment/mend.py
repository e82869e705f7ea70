"""Repairs the CMake exports of the ROS wheels: they carry paths of the machine that built the wheels."""

from __future__ import annotations

import re
from pathlib import Path

_BUILD_PYTHON = re.compile(r"/opt/python/cp\d+-cp\d+/include/python\d\.\d+")
_BUILD_NUMPY = re.compile(r"/opt/python/cp\d+-cp\d+/lib/python\d\.\d+/site-packages/numpy/_core/include")
_BUILD_TINYXML2 = "/usr/lib64/libtinyxml2.so"
# Tracing is switched off in a venv without LTTng, yet the exports still name its library.
_LTTNG = '"lttng-ust;dl'


class MendError(RuntimeError):
    """A wheel lacks what its exports refer to."""


def mend_exports(venv: Path, python_include: Path, numpy_include: Path) -> int:
    """Rewrite the exports under venv/share. Returns the number of files changed; a second call changes none."""
    tinyxml2 = _bundled_tinyxml2(venv)
    changed = 0
    for path in sorted((venv / "share").rglob("*.cmake")):
        before = path.read_text()
        after = _BUILD_PYTHON.sub(str(python_include), before)
        after = _BUILD_NUMPY.sub(str(numpy_include), after)
        after = after.replace(_BUILD_TINYXML2, str(tinyxml2)).replace(_LTTNG, '"dl')
        if after != before:
            path.write_text(after)
            changed += 1
    return changed


def _bundled_tinyxml2(venv: Path) -> Path:
    found = sorted(venv.glob("lib/python*/site-packages/ros_fastdds.libs/libtinyxml2*"))
    if len(found) != 1:
        raise MendError(f"{venv}: expected one libtinyxml2 in ros_fastdds.libs, found {len(found)}")
    return found[0]
