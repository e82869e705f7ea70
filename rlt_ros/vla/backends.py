"""The VLA backends by name, and how a saved or described VLA becomes one that answers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from rlt_ros.strict import ConfigError, read_mapping
from rlt_ros.vla.contract import VLA

BACKENDS = {
    "tiny": "rlt_ros.vla.tiny",
    "lerobot": "rlt_ros.vla.lerobot.backend",
    "remote": "rlt_ros.vla.remote.client",
}
"""Backend to its module, imported when it is called for. A module has
`load(settings: Mapping[str, Any], folder: Path, where: str, device: str) -> VLA`: settings as its VLA's `save` returned
them, relative paths from folder, where names them in errors. A missing optional package is an ImportError that names
the pip extra.
"""


def load_vla(settings: Mapping[str, Any], folder: Path, where: str, device: str = "cpu") -> VLA:
    """A VLA from its settings, of which `backend` chooses the kind; device: of torch, such as `cuda`.

    Raises ConfigError on an unknown backend or setting, ValueError where files do not fit, ImportError with the extra.
    """
    values = dict(settings)
    name = values.pop("backend", None)
    if name not in BACKENDS:
        raise ConfigError(f"{where}.backend: {name!r}; known are {', '.join(BACKENDS)}")
    return import_module(BACKENDS[name]).load(values, folder, where, device)


def save_vla(vla: VLA, folder: Path) -> dict[str, Any]:
    """Write a VLA's part of a checkpoint into a directory; returns the settings for `load_vla`."""
    return {"backend": vla.backend} | vla.save(folder)


def read_vla(path: Path, device: str = "cpu") -> VLA:
    """A VLA described by a YAML file; relative paths in it start from the file's directory. Errors as `load_vla`."""
    return load_vla(read_mapping(path), path.parent, str(path), device)
