"""The learner's end of the transition streams: in order, once, and safe on disk before it is acknowledged."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from rlt_ros.rl.codec import Packed, Refused
from rlt_ros.rl.journal import Journal
from rlt_ros.rl.rows import RowError, RowSpec
from rlt_ros.types import Features, Transition, TransitionAck, robot_of

EARLY_ROWS = 10_000
"""Rows of a stream kept while an earlier one is missing. Those beyond it are dropped; their sender has them still."""
ORPHANS = 1_000
"""Features of refused rows kept for later rows of the stream that name them without carrying them."""
_log = logging.getLogger(__name__)


class Status(Enum):
    """What became of a received row."""

    ACCEPTED = "accepted"
    EARLY = "early"  # kept until the ids before it have come
    DUPLICATE = "duplicate"
    REFUSED = "refused"  # does not fit; its id is used up
    DROPPED = "dropped"  # too early; it will be sent again


class Sink(Protocol):
    """What takes the rows: `rl.learner.Learner`."""

    @property
    def spec(self) -> RowSpec:
        """Shapes of the rows."""

    @property
    def rows(self) -> int:
        """For the receipt, as are the next two."""

    @property
    def taken(self) -> Mapping[str, int]:
        """Id of the newest row of each stream."""

    @property
    def update_debt(self) -> int:
        """Critic updates earned and not yet spent."""

    @property
    def weights_version(self) -> int:
        """Newest version published."""

    def check(self, row: Transition) -> None:
        """Raises RowError if the row does not fit."""

    def add(self, rows: Iterable[Transition]) -> int:
        """Take rows that fit."""


@dataclass
class _Stream:
    """done: highest contiguous id written. early: rows behind a gap, by id. orphans: sound features of refused rows,
    which later rows name without carrying them. touched: something came since the last receipt.
    """

    done: int = 0
    early: dict[int, tuple[Transition, str]] = field(default_factory=dict)
    orphans: dict[int, Features] = field(default_factory=dict)
    touched: bool = False


class Inbox:
    """At-least-once streams of rows in, each row exactly once and in order out. For one thread.

    contract: fingerprint that rows must carry. Use: `resume(learner, inbox.replayed(), checkpoint)` once, then
    `receive` for each row and `flush` for the receipts.
    """

    def __init__(self, journal: Journal, sink: Sink, contract: str) -> None:
        self._journal, self._sink, self._contract = journal, sink, contract
        self._streams: dict[str, _Stream] = {}
        self.duplicates = 0
        """Rows received again since this start."""
        self.refused = 0
        """Rows that did not fit since the run began."""

    def replayed(self) -> Iterator[Transition]:
        """Rows of the journal in order that the learner has not, while the streams take up where they stopped: at the
        end of the journal, or of the learner's own rows where these go further. Raises JournalError on damage.
        """
        for packed in self._journal.packed():
            stream = self._streams.setdefault(packed.stream, _Stream())
            stream.done = packed.id
            known = packed.id <= self._sink.taken.get(packed.stream, 0)
            if not known or packed.refused or stream.orphans:
                yield from self._unpacked(stream, packed, known)
        journalled = bool(self._streams)
        for name, newest in self._sink.taken.items():
            stream = self._streams.setdefault(name, _Stream())
            if journalled and stream.done < newest:
                _log.warning("stream %s: the journal ends at row %d, the checkpoint at %d", name, stream.done, newest)
            stream.done = max(stream.done, newest)

    def _unpacked(self, stream: _Stream, packed: Packed, known: bool) -> Iterator[Transition]:
        entry = packed.entry()
        if isinstance(entry, Refused):
            self._remember(stream, entry)
            return
        for features in entry.features:
            stream.orphans.pop(features.id, None)
        if not known:
            yield entry

    def receive(self, row: Transition, contract: str) -> Status:
        """Take a row as it came. Raises JournalError if the disk refuses it; unacknowledged, it will come again."""
        stream = self._streams.setdefault(row.stream, _Stream())
        stream.touched = True
        if row.id <= stream.done:
            self.duplicates += 1
            return Status.DUPLICATE
        if row.id > stream.done + 1:
            return self._keep(stream, row, contract)
        status = self._write(stream, row, contract)
        stream.early.pop(row.id, None)
        while (following := stream.early.get(stream.done + 1)) is not None:
            self._write(stream, *following)
            del stream.early[stream.done]
        return status

    def flush(self) -> list[TransitionAck]:
        """Make everything received safe on disk, then a receipt for each stream that something came from."""
        touched = {name: stream for name, stream in self._streams.items() if stream.touched}
        if not touched:
            return []
        self._journal.flush()
        for stream in touched.values():
            stream.touched = False
        return [self._receipt(name, stream) for name, stream in touched.items()]

    @property
    def newest(self) -> dict[str, int]:
        """Newest stream of each robot -> rows of it that are written: its highest contiguous id."""
        streams = {robot_of(name): name for name in self._streams}
        return {name: self._streams[name].done for name in streams.values()}

    def taken_up(self) -> list[TransitionAck]:
        """Receipts for the streams of the journal: after a restart their senders wait for word."""
        return [self._receipt(name, stream) for name, stream in self._streams.items()]

    def _receipt(self, name: str, stream: _Stream) -> TransitionAck:
        sink = self._sink
        return TransitionAck(name, stream.done, sink.rows, sink.update_debt, sink.weights_version)

    def _keep(self, stream: _Stream, row: Transition, contract: str) -> Status:
        if row.id in stream.early:
            self.duplicates += 1
            return Status.DUPLICATE
        if len(stream.early) >= EARLY_ROWS:
            return Status.DROPPED
        stream.early[row.id] = (row, contract)
        return Status.EARLY

    def _write(self, stream: _Stream, row: Transition, contract: str) -> Status:
        row = _with_orphans(stream, row)
        reason = self._fault(row, contract)
        if reason:
            entry = Refused(row.stream, row.id, reason, self._sound(row, contract))
            self._journal.append(entry)
            self._remember(stream, entry)
        else:
            self._journal.append(row)
            self._sink.add([row])
            for features in row.features:
                stream.orphans.pop(features.id, None)
        stream.done = row.id
        return Status.REFUSED if reason else Status.ACCEPTED

    def _fault(self, row: Transition, contract: str) -> str:
        if contract != self._contract:
            return f"row {row.id} of stream {row.stream!r}: contract is {contract!r}; expected {self._contract!r}"
        try:
            self._sink.check(row)
        except RowError as error:
            return str(error)
        return ""

    def _sound(self, row: Transition, contract: str) -> tuple[Features, ...]:
        return tuple(f for f in row.features if contract == self._contract and self._fits(f))

    def _fits(self, features: Features) -> bool:
        try:
            self._sink.spec.check_features("features", features)
        except RowError:
            return False
        return True

    def _remember(self, stream: _Stream, refused: Refused) -> None:
        self.refused += 1
        stream.orphans.update({f.id: f for f in refused.features})
        while len(stream.orphans) > ORPHANS:
            del stream.orphans[next(iter(stream.orphans))]


def _with_orphans(stream: _Stream, row: Transition) -> Transition:
    """The row with the features that it names and that only a refused row has carried."""
    carried = {f.id for f in row.features}
    named = (row.features_id, row.next_features_id)
    adopted = tuple(f for i, f in stream.orphans.items() if i in named and i not in carried)
    return replace(row, features=(*row.features, *adopted)) if adopted else row
