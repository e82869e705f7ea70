"""Rows on their way to the learner: kept until it has them safe on disk, sent again until then."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from rlt_ros.types import Transition, TransitionAck

AT_ONCE = 100
"""Rows sent again in one go, at most: after an outage thousands at once would only push each other off the link."""


class Outbox:
    """At-least-once delivery of one stream; the receiver drops doubles.

    stream: names this run of ids, which start at 1 and have no gaps. bound: rows after which `full` asks the caller to
    begin no new practice; rows that exist are kept all the same, none is ever dropped.
    """

    def __init__(self, stream: str, bound: int) -> None:
        self.stream = stream
        self._bound = bound
        self._rows: OrderedDict[int, Transition] = OrderedDict()
        self._sent: dict[int, float | None] = {}
        self.published = 0
        """Distinct rows put."""
        self.acknowledged = 0
        """Rows that the learner has safe: its highest contiguous id."""
        self.resent = 0
        """Rows sent again."""

    @property
    def pending(self) -> int:
        """Rows not acknowledged."""
        return len(self._rows)

    @property
    def full(self) -> bool:
        """The bound is reached: begin no new critical phase."""
        return self.pending >= self._bound

    def put(self, rows: list[Transition]) -> list[Transition]:
        """Give rows their ids and keep them; returns them, to be sent now."""
        numbered = [replace(row, id=self.published + i + 1, stream=self.stream) for i, row in enumerate(rows)]
        self.published += len(numbered)
        for row in numbered:
            self._rows[row.id], self._sent[row.id] = row, None
        return numbered

    def unacknowledged(self, now: float, resend_after: float) -> list[Transition]:
        """Rows to send again, in the order of their ids, `AT_ONCE` at most.

        now: seconds of a steady clock. resend_after: seconds without a receipt. A row's clock starts at the first call
        after `put`, which has returned it for sending.
        """
        due = []
        for number, row in self._rows.items():
            if self._sent[number] is None:
                self._sent[number] = now
            elif now - self._sent[number] >= resend_after and len(due) < AT_ONCE:
                self._sent[number] = now
                due.append(row)
        self.resent += len(due)
        return due

    def acknowledge(self, ack: TransitionAck) -> None:
        """Forget rows up to ack.ack_id. Receipts of other streams are ignored; ValueError on a row never published."""
        if ack.stream != self.stream:
            return
        if ack.ack_id > self.published:
            raise ValueError(f"receipt for row {ack.ack_id} of stream {ack.stream!r}; {self.published} were published")
        self.acknowledged = max(self.acknowledged, ack.ack_id)
        while self._rows and next(iter(self._rows)) <= ack.ack_id:
            number, _ = self._rows.popitem(last=False)
            del self._sent[number]
