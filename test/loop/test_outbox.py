"""Rows on their way: numbered, kept, sent again, never lost (field report B44)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_windows import assemble, steps

from rlt_ros.loop.outbox import AT_ONCE, Outbox
from rlt_ros.types import TransitionAck

ROWS = assemble(steps(11)).rows


def ack(number: int, stream: str = "s") -> TransitionAck:
    return TransitionAck(stream, number, 0, 0, 0)


def test_ids_start_at_1_without_gaps() -> None:
    outbox = Outbox("s", 100)
    rows = outbox.put(ROWS) + outbox.put(ROWS)
    assert [row.id for row in rows] == list(range(1, 11))
    assert {row.stream for row in rows} == {"s"}
    assert (outbox.published, outbox.acknowledged, outbox.pending) == (10, 0, 10)


def test_rows_are_sent_again_until_acknowledged() -> None:
    outbox = Outbox("s", 100)
    outbox.put(ROWS)
    assert outbox.unacknowledged(10.0, 2.0) == []
    assert outbox.unacknowledged(11.9, 2.0) == []
    outbox.acknowledge(ack(2))
    assert [row.id for row in outbox.unacknowledged(12.0, 2.0)] == [3, 4, 5]
    assert outbox.unacknowledged(12.1, 2.0) == []
    assert [row.id for row in outbox.unacknowledged(14.0, 2.0)] == [3, 4, 5]
    outbox.acknowledge(ack(5))
    assert outbox.unacknowledged(99.0, 2.0) == []
    assert (outbox.resent, outbox.acknowledged, outbox.pending) == (6, 5, 0)


def test_foreign_and_old_receipts_change_nothing_and_impossible_ones_are_refused() -> None:
    outbox = Outbox("s", 100)
    outbox.put(ROWS)
    outbox.acknowledge(ack(4))
    outbox.acknowledge(ack(2))
    outbox.acknowledge(ack(99, "other"))
    assert (outbox.acknowledged, outbox.pending) == (4, 1)
    with pytest.raises(ValueError, match="row 6 of stream 's'; 5 were published"):
        outbox.acknowledge(ack(6))


def test_a_full_outbox_asks_for_a_pause_but_keeps_every_row() -> None:
    outbox = Outbox("s", 8)
    outbox.put(ROWS)
    assert not outbox.full
    outbox.put(ROWS)
    assert outbox.full and outbox.pending == 10
    outbox.acknowledge(ack(3))
    assert not outbox.full


@given(st.lists(st.one_of(st.just("put"), st.floats(0.1, 5.0), st.integers(0, 10)), max_size=40))
def test_whatever_the_receiver_does_every_row_is_acknowledged_or_kept(events: list) -> None:
    outbox, now, sent = Outbox("s", 1000), 0.0, set()
    for happened in events:
        if happened == "put":
            sent |= {row.id for row in outbox.put(ROWS[:3])}
        elif isinstance(happened, float):
            now += happened
            sent |= {row.id for row in outbox.unacknowledged(now, 1.0)}
        else:
            outbox.acknowledge(ack(min(happened, outbox.published)))
    assert outbox.acknowledged + outbox.pending == outbox.published
    assert sent == set(range(1, outbox.published + 1))


def test_after_an_outage_rows_go_out_again_in_portions_the_oldest_first() -> None:
    outbox = Outbox("s", 100_000)
    for _ in range(100):
        outbox.put(ROWS)
    outbox.unacknowledged(0.0, 2.0)
    first = [row.id for row in outbox.unacknowledged(10.0, 2.0)]
    second = [row.id for row in outbox.unacknowledged(11.0, 2.0)]
    assert first + second == list(range(1, 2 * AT_ONCE + 1))
    outbox.acknowledge(ack(150))
    assert [row.id for row in outbox.unacknowledged(13.0, 2.0)] == list(range(151, 151 + AT_ONCE))
