"""Numbered checkpoints, each written aside and renamed: one that has its name is whole, or it is passed over.

    checkpoints/000001/state.json           format, contract, settings, counters, checksum of the tensors
    checkpoints/000001/tensors.safetensors  networks, targets, optimisers, random generators

The rows are not in it: the journal has them. `resume` joins the two.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from safetensors.torch import load, save

from rlt_ros.rl.config import OPERATIONAL
from rlt_ros.rl.learner import Learner
from rlt_ros.types import Transition

FORMAT = 1
STATE, TENSORS = "state.json", "tensors.safetensors"
_log = logging.getLogger(__name__)


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used here; names what differs and both values."""


def save_checkpoint(directory: Path, learner: Learner) -> Path:
    """Write the next number and return its path; earlier ones stay. Flush the journal first: its rows are counted."""
    tensors, values = learner.state()
    data = save(tensors)
    state = identity(learner) | values | {"tensors": hashlib.sha256(data).hexdigest()}
    target = directory / f"{max(numbers(directory), default=0) + 1:06d}"
    aside = directory / f".{target.name}.partial"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    _write(aside / TENSORS, data)
    _write(aside / STATE, json.dumps(state, indent=1).encode())
    _sync(aside)
    aside.rename(target)
    _sync(directory)
    return target


def latest(directory: Path) -> Path | None:
    """The newest whole checkpoint, None without one. Damaged ones are passed over with a warning that names them."""
    for number in sorted(numbers(directory), reverse=True):
        path = directory / f"{number:06d}"
        try:
            _read(path)
        except (OSError, ValueError, KeyError) as error:
            _log.warning("%s is not a whole checkpoint and is passed over: %s", path, error)
        else:
            return path
    return None


def numbers(directory: Path) -> list[int]:
    """Numbers of the checkpoints in a directory, whole or not."""
    return [int(p.name) for p in directory.glob("[0-9]*") if p.is_dir() and p.name.isdigit()]


def resume(learner: Learner, rows: Iterable[Transition], path: Path | None) -> None:
    """Bring a new learner to where a run stopped: the checkpoint's rows, its state, then the rows that came after it.

    rows: of the journal, in order. path: None after a run that wrote no checkpoint. Raises CheckpointError if contract
    or a setting differs or if the journal holds fewer rows than the checkpoint counts.
    """
    if path is None:
        learner.add(rows)
        return
    state, data = _read(path)
    _check_identity(state, identity(learner), path)
    wanted, rows = state["progress"]["rows"], iter(rows)
    learner.add(islice(rows, wanted))
    if learner.progress.rows < wanted:
        raise CheckpointError(f"{path} was made after {wanted} rows; the journal holds {learner.progress.rows}")
    learner.load_state(load(data), state)
    learner.add(rows)


def identity(learner: Learner) -> dict[str, Any]:
    """What must not change between a checkpoint and the run that resumes it."""
    return {
        "format": FORMAT,
        "contract": learner.contract,
        "config": learner.config.as_dict(),
        "dims": vars(learner.dims),
    }


def _check_identity(state: Mapping[str, Any], own: Mapping[str, Any], path: Path) -> None:
    for name in ("format", "contract"):
        if state[name] != own[name]:
            raise CheckpointError(f"{path}: {name} is {state[name]!r}; this run has {own[name]!r}")
    for section in ("dims", "config"):
        for key in sorted(set(state[section]) | set(own[section])):
            saved, here = state[section].get(key), own[section].get(key)
            if saved != here and key not in OPERATIONAL:
                raise CheckpointError(f"{path}: {section}.{key} is {saved!r}; this run has {here!r}")


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    state = json.loads((path / STATE).read_text())
    data = (path / TENSORS).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != state["tensors"]:
        raise ValueError(f"checksum of {TENSORS} is {found}; {STATE} says {state['tensors']}")
    return state, data


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
