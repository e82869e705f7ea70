"""Field reports A01, A07: what a chunk must look like, and at which row it starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loop_parts import chunk

from rlt_ros.loop.chunks import ChunkQueue, ChunkRefused, StaleChunk
from rlt_ros.types import Driver, Mode


def drive(queue: ChunkQueue, observation_id: int, mode: Mode = Mode.VLA) -> int | None:
    """Answer one observation with the queue's next row; returns its index."""
    queue.arrive(observation_id)
    row = queue.peek(mode)
    if row is None:
        return None
    queue.drove()
    return row.index


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.01])
def test_one_bad_value_refuses_the_whole_chunk_and_is_named(bad: float) -> None:
    queue, broken = ChunkQueue(10), chunk(1)
    broken.actions[3, 2] = bad
    with pytest.raises(ChunkRefused, match=r"observation 1: action \[3, 2\] \(dz\) is"):
        queue.offer(broken)
    assert drive(queue, 1) is None
    queue.offer(chunk(1))
    assert drive(queue, 1) == 0


@pytest.mark.parametrize("shape", [(9, 7), (10, 6), (10,), (0, 7), (70,)])
def test_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ChunkRefused, match="shape"):
        ChunkQueue(10).offer(replace(chunk(1), actions=np.zeros(shape, np.float32)))


def test_only_policies_send_chunks() -> None:
    with pytest.raises(ChunkRefused, match="driver"):
        ChunkQueue(10).offer(chunk(1, driver=Driver.HUMAN))


def test_a_repeated_chunk_is_ignored_once_it_runs_and_an_older_one_refused() -> None:
    queue = ChunkQueue(10)
    queue.offer(chunk(5))
    queue.offer(chunk(5, value=0.9))
    queue.arrive(5)
    assert queue.peek(Mode.VLA).action[0] == np.float32(0.9), "decided again before it began"
    queue.offer(chunk(5, value=0.1))
    assert queue.peek(Mode.VLA).action[0] == np.float32(0.9)
    assert not queue.pending
    with pytest.raises(StaleChunk, match="observation 4"):
        queue.offer(chunk(4))


def test_the_first_chunk_starts_at_row_0_however_late() -> None:
    """Cold start: nothing was executed meanwhile, so nothing is skipped."""
    queue = ChunkQueue(10)
    for i in range(1, 15):
        assert drive(queue, i) is None
    queue.offer(chunk(1))
    assert drive(queue, 15) == 0


def test_a_late_chunk_skips_exactly_the_rows_driven_meanwhile() -> None:
    queue = ChunkQueue(10)
    queue.offer(chunk(1))
    assert [drive(queue, i) for i in range(1, 8)] == list(range(7))
    queue.offer(chunk(8))
    assert [drive(queue, i) for i in range(8, 11)] == [7, 8, 9]
    assert [drive(queue, i) for i in range(11, 18)] == list(range(3, 10))
    assert drive(queue, 18) is None


def test_holds_are_not_rows() -> None:
    queue = ChunkQueue(10)
    queue.offer(chunk(1))
    for i in range(1, 11):
        drive(queue, i)
    assert [drive(queue, i) for i in (11, 12, 13)] == [None] * 3
    queue.offer(chunk(9))
    assert drive(queue, 14) == 2


def test_a_chunk_that_is_wholly_late_is_dropped() -> None:
    queue = ChunkQueue(10)
    queue.offer(chunk(1))
    for i in range(1, 11):
        drive(queue, i)
    queue.arrive(11)
    queue.offer(chunk(2, length=10))
    assert queue.peek(Mode.VLA).index == 9
    queue.drove()
    assert drive(queue, 12) is None


def test_a_chunk_for_an_observation_to_come_waits_for_it() -> None:
    queue = ChunkQueue(10)
    queue.offer(chunk(2))
    assert drive(queue, 1) is None
    assert drive(queue, 2) == 0


def test_after_a_flush_only_later_observations_count() -> None:
    queue = ChunkQueue(10)
    queue.offer(chunk(1))
    drive(queue, 1)
    queue.flush(2)
    with pytest.raises(StaleChunk):
        queue.offer(chunk(2))
    assert drive(queue, 3) is None
    queue.offer(chunk(3))
    assert drive(queue, 3) == 0


def test_a_learned_chunk_does_not_start_after_the_operator_took_back_control() -> None:
    queue = ChunkQueue(10)
    queue.offer(chunk(1, driver=Driver.ACTOR))
    assert drive(queue, 1, Mode.VLA) is None
    queue.offer(chunk(2, driver=Driver.ACTOR))
    assert [drive(queue, i, Mode.RL) for i in (2, 3)] == [0, 1]
    assert drive(queue, 4, Mode.VLA) == 2, "a chunk that runs is finished"
