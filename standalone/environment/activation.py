"""The variables under which ROS from wheels works; the one place that names them."""

from __future__ import annotations

import shlex
from pathlib import Path

from layout import Layout


def fixed(layout: Layout) -> dict[str, str]:
    """Variables that follow from where the environment is."""
    venv = layout.venv
    bundled = sorted(layout.site_packages().glob("ros_*.libs"))
    return {
        "VIRTUAL_ENV": str(venv),
        "AMENT_PREFIX_PATH": str(venv),
        "CMAKE_PREFIX_PATH": str(venv),
        "LD_LIBRARY_PATH": ":".join(str(folder) for folder in (venv / "lib", *bundled)),
        # The wheels re-execute Python to set the library path unless told that it is set.
        "_ROS_WHEELS_BOOTSTRAP_COMPLETE": "1",
        "ROS_DISTRO": "kilted",
        "ROS_VERSION": "2",
        "ROS_PYTHON_VERSION": "3",
    }


DEFAULTS = {
    "RMW_IMPLEMENTATION": "rmw_fastrtps_cpp",
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    "MUJOCO_GL": "egl",
    # Threads of the software renderer cost more than they give at camera sizes of a few hundred pixels.
    "LP_NUM_THREADS": "0",
}
"""Variables that a person may have set otherwise."""


def environment(layout: Layout, inherited: dict[str, str]) -> dict[str, str]:
    """The inherited environment with ROS switched on."""
    path = f"{layout.venv / 'bin'}:{inherited.get('PATH', '')}"
    return {**DEFAULTS, **inherited, **fixed(layout), "PATH": path}


def script(layout: Layout) -> str:
    """The same as a shell script to be sourced."""
    lines = ["# Switches ROS on in this shell: source .venv/ros.sh. Written by `make env`."]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in fixed(layout).items()]
    lines += [f'export {name}="${{{name}:-{value}}}"' for name, value in DEFAULTS.items()]
    binaries = shlex.quote(str(layout.venv / "bin"))
    lines += [f'case ":$PATH:" in *:{binaries}:*) ;; *) export PATH={binaries}:"$PATH" ;; esac', "unset PYTHONHOME"]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file only where it differs, so that nothing that depends on it looks newer."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
