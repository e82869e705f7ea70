"""Numbered checkpoints, each written aside and renamed: one that has its name is whole, or it is passed over.

    checkpoints/000001/state.json           format, contract, settings, counters, checksums of the other two
    checkpoints/000001/tensors.safetensors  networks, targets, optimisers, random generators
    checkpoints/000001/replay.safetensors   the rows, as `rl.stored` lays them out

A directory needs nothing else: copied to another machine it can be resumed there, or learned from.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from rlt_ros.files import written_aside
from rlt_ros.rl.config import OPERATIONAL
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.stored import StoredFile, write
from rlt_ros.types import Transition

FORMAT = 2
"""1 had no replay of its own: its rows were in the journal alone."""
STATE, TENSORS, REPLAY = "state.json", "tensors.safetensors", "replay.safetensors"
ABSENT = "not there"
_log = logging.getLogger(__name__)


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be used or written; names what differs and both values, or what the disk said."""


def save_checkpoint(directory: Path, learner: Learner, keep: int = 0) -> Path:
    """Write the next number and return its path. Rows and training wait until the memory is copied, not for the disk.

    keep: older checkpoints that stay beside it, 0 for all. Raises CheckpointError if the disk refuses, which leaves the
    earlier ones as they were.
    """
    path = directory / f"{max(numbers(directory), default=0) + 1:06d}"
    try:
        with written_aside(path) as aside:
            aside.mkdir()
            _write(aside, learner)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} is not written, earlier checkpoints stand: {error}") from error
    if keep > 0:
        _prune(directory, keep + 1)
    return path


class Saver:
    """Checkpoints of one learner as often as its updates ask for; any thread may save.

    every: critic updates between two; 0 or less: none is ever due. keep: as `save_checkpoint` has it.
    """

    def __init__(self, directory: Path, learner: Learner, every: int, keep: int) -> None:
        self._directory, self._learner, self._every, self._keep = directory, learner, every, keep
        self._saved_at = learner.agent.critic_updates
        self._saving = threading.Lock()

    @property
    def due(self) -> bool:
        """Whether as many updates were made since the last attempt."""
        return 0 < self._every <= self._learner.agent.critic_updates - self._saved_at

    def save(self) -> Path:
        """Write the next number and return its path. Raises CheckpointError if the disk refuses."""
        with self._saving:
            # First: where the disk refuses, the next attempt is due after as many updates as ever.
            self._saved_at = self._learner.agent.critic_updates
            return save_checkpoint(self._directory, self._learner, self._keep)


def latest(directory: Path) -> Path | None:
    """The newest whole checkpoint, None without one. Damaged ones are passed over with a warning that names them.

    Raises CheckpointError on one of another format: starting anew beside it would lose what it has learned.
    """
    for number in sorted(numbers(directory), reverse=True):
        path = directory / f"{number:06d}"
        try:
            state = read_state(path)
            for name, wanted in state["checksums"].items():
                found = _checksum(path / name)
                if found != wanted:
                    raise ValueError(f"checksum of {name} is {found}; {STATE} says {wanted}")
        except (OSError, ValueError, KeyError) as error:
            _log.warning("%s is not a whole checkpoint and is passed over: %s", path, error)
        else:
            return path
    return None


def numbers(directory: Path) -> list[int]:
    """Numbers of the checkpoints in a directory, whole or not."""
    return [int(p.name) for p in directory.glob("[0-9]*") if p.is_dir() and p.name.isdigit()]


def read_state(path: Path) -> dict[str, Any]:
    """The counters and settings of a checkpoint. Raises OSError or ValueError, CheckpointError on another format."""
    state = json.loads((path / STATE).read_text())
    if state["format"] != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {state['format']!r}; this version reads and writes {FORMAT}. Go on with the "
            "version that wrote it, or learn again from the run's rows: rlt train"
        )
    return state


def resume(learner: Learner, rows: Iterable[Transition], path: Path | None) -> None:
    """Bring a new learner to where a run stopped: a checkpoint that `latest` gave, then the rows that it has not seen.

    rows: of the journal, in order; those that the checkpoint holds are left out. path: None after a run that wrote no
    checkpoint. Raises CheckpointError if contract or a setting differs.
    """
    if path is not None:
        _load(learner, path)
    taken = dict(learner.taken)
    learner.add(row for row in rows if row.id > taken.get(row.stream, 0))


def identity(learner: Learner) -> dict[str, Any]:
    """What must not change between a checkpoint and the run that resumes it."""
    return {"contract": learner.contract, "config": learner.config.as_dict(), "dims": vars(learner.dims)}


def _write(folder: Path, learner: Learner) -> None:
    with learner.held() as (tensors, values, stored):
        write(folder / REPLAY, stored)
    save_file(tensors, folder / TENSORS)
    state = {"format": FORMAT} | identity(learner) | {"translation_mm": learner.translation_mm} | values
    state["checksums"] = {name: _checksum(folder / name) for name in (TENSORS, REPLAY)}
    (folder / STATE).write_text(json.dumps(state, indent=1))


def _load(learner: Learner, path: Path) -> None:
    state = read_state(path)
    _check_identity(state, identity(learner), path)
    try:
        learner.load_state(load_file(path / TENSORS), state, StoredFile(path / REPLAY).stored())
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path}: {error}") from error


def _check_identity(state: Mapping[str, Any], own: Mapping[str, Any], path: Path) -> None:
    if state["contract"] != own["contract"]:
        raise CheckpointError(f"{path}: contract is {state['contract']!r}; this run has {own['contract']!r}")
    for section in ("dims", "config"):
        for key in sorted(set(state[section]) | set(own[section])):
            saved, here = state[section].get(key, ABSENT), own[section].get(key, ABSENT)
            if saved != here and key not in OPERATIONAL:
                raise CheckpointError(f"{path}: {section}.{key} is {saved!r}; this run has {here!r}")


def _prune(directory: Path, kept: int) -> None:
    for number in sorted(numbers(directory))[:-kept]:
        # A half deleted one has its number still and is the next one's to delete; newer ones are whole.
        shutil.rmtree(directory / f"{number:06d}", ignore_errors=True)


def _checksum(path: Path) -> int:
    """CRC-32 of a file, against torn and rotten bytes."""
    value = 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            value = zlib.crc32(block, value)
    return value
