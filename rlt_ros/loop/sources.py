"""Stored transitions to learn from: runs, their journals, checkpoints, bags."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros.data.bags.paths import is_bag
from rlt_ros.data.contract import read_contract
from rlt_ros.rl.checkpoint import REPLAY, CheckpointError, latest, read_state
from rlt_ros.rl.codec import Refused
from rlt_ros.rl.config import Dims
from rlt_ros.rl.journal import read_journal
from rlt_ros.rl.origin import Origin, read_origin
from rlt_ros.rl.stored import StoredFile
from rlt_ros.types import Transition

JOURNAL, CHECKPOINTS = "transitions", "checkpoints"
_log = logging.getLogger(__name__)


class SourceError(ValueError):
    """Rows that cannot be learned from, or not together; names the directories and what is wrong."""


@dataclass(frozen=True)
class Source:
    """One directory of rows. Nothing in it is ever changed.

    origin: what its rows mean, None if it does not say. settings: of the newest checkpoint there, None without one.
    count: rows of each stream. rows: from the first one on, at each call. contract: that the rows themselves carry,
    empty where they do not.
    """

    path: Path
    origin: Origin | None
    settings: Mapping[str, Any] | None
    count: Mapping[str, int]
    rows: Callable[[], Iterator[Transition]]
    contract: str = ""


def open_source(path: Path) -> Source:
    """A run's directory, a journal's (`transitions`), a checkpoint's, or a bag. Raises SourceError on anything else,
    BagError where a bag cannot be read or lacks rows.
    """
    if (path / REPLAY).is_file():
        return _of_checkpoint(path)
    if (path / JOURNAL).is_dir() and any((path / JOURNAL).glob("*.rlt")):
        return _of_journal(path / JOURNAL, _newest(path / CHECKPOINTS))
    if any(path.glob("*.rlt")):
        return _of_journal(path, _newest(path.parent / CHECKPOINTS))
    if newest := _newest(path / CHECKPOINTS):
        return _of_checkpoint(newest)
    if is_bag(path):
        return _of_bag(path)
    raise SourceError(f"{path}: no rows here; expected a run directory, its {JOURNAL}/, a checkpoint's, or a bag")


def stage1_origin(checkpoint: Path) -> Origin:
    """What rows mean that were made with a Stage-1 checkpoint. Raises ConfigError or ContractMismatch."""
    contract = read_contract(checkpoint)
    dims = Dims(*contract.sizes)
    return Origin(contract.fingerprint, contract.chunk, dims, 1e3 * contract.translation_scale)


def agreed_origin(sources: Sequence[Source], stage1: Origin | None) -> Origin:
    """What all rows mean. Raises OriginMismatch naming both values where two say different things, SourceError where
    one says nothing and no Stage-1 checkpoint stands in for it.
    """
    silent = [source.path for source in sources if source.origin is None]
    if silent and stage1 is None:
        raise SourceError(f"{silent[0]} does not say which contract its rows have: name its Stage-1 --checkpoint")
    known = [(str(source.path), source.origin) for source in sources if source.origin is not None]
    origin = stage1 or known[0][1]
    for where, own in known:
        own.check(origin, where)
    for source in sources:
        if source.contract and source.contract != origin.contract:
            raise SourceError(f"{source.path}: contract is {source.contract!r}; expected {origin.contract!r}")
    return origin


def all_rows(sources: Sequence[Source]) -> Iterator[Transition]:
    """The rows of one source after the other. Raises SourceError if two of them share a stream: the same rows twice, or
    two runs whose ids cannot be told apart.
    """
    owners: dict[str, Path] = {}
    for source in sources:
        for stream in source.count:
            if stream in owners:
                raise SourceError(f"{owners[stream]} and {source.path} both have rows of stream {stream!r}; name one")
            owners[stream] = source.path
    return (row for source in sources for row in source.rows())


def _of_checkpoint(path: Path) -> Source:
    state = read_state(path)
    origin = Origin.of_state(state, str(path))
    stored = StoredFile(path / REPLAY)
    return Source(path, origin, state["config"], Counter(stream for stream, _ in stored.keys()), stored.rows)


def _of_journal(path: Path, checkpoint: Path | None) -> Source:
    state = read_state(checkpoint) if checkpoint else None
    origin = read_origin(path) or (Origin.of_state(state, str(checkpoint)) if state else None)
    count = Counter(packed.stream for packed in read_journal(path) if not packed.refused)
    return Source(path, origin, state["config"] if state else None, count, lambda: _accepted(path))


def _of_bag(path: Path) -> Source:
    # In the run's directory, where `record:=true` puts it, are its settings and what its rows mean.
    from rlt_ros.data.bags.rows import contracted_rows

    run = path.resolve().parent
    checkpoint = _newest(run / CHECKPOINTS)
    contracts = Counter((contract, row.stream) for contract, row in contracted_rows(path))
    known = sorted({contract for contract, _ in contracts})
    if len(known) != 1:
        raise SourceError(f"{path}: rows of {len(known)} contracts, {', '.join(known)}; expected those of one")
    count = Counter({stream: n for (_, stream), n in contracts.items()})
    settings = read_state(checkpoint)["config"] if checkpoint else None
    origin = read_origin(run / JOURNAL)
    return Source(path, origin, settings, count, lambda: (row for _, row in contracted_rows(path)), known[0])


def _accepted(journal: Path) -> Iterator[Transition]:
    entries = (packed.entry() for packed in read_journal(journal))
    return (entry for entry in entries if not isinstance(entry, Refused))


def _newest(checkpoints: Path) -> Path | None:
    try:
        return latest(checkpoints)
    except CheckpointError as error:
        # Its rows are what is wanted, and those of a journal are as readable as ever.
        _log.warning("%s", error)
        return None
