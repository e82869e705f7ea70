"""Field reports A06 and A34: stale, repeated, zero and foreign stamps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlt_ros.loop.synchroniser import SECOND, BadStamp, LatestSynchroniser, Stale, StampSynchroniser

MS = 1_000_000


def equal(depth: int = 4) -> StampSynchroniser:
    return StampSynchroniser(("image", "state"), depth)


def latest(max_age: int = 200 * MS) -> LatestSynchroniser:
    return LatestSynchroniser(("image", "state"), max_age)


def test_a_set_is_emitted_once_when_complete() -> None:
    sync = equal()
    assert sync.add("image", 5, "i5") is None
    assert sync.add("state", 5, "s5") == {"image": "i5", "state": "s5"}
    assert sync.add("state", 5, "again") is None
    assert sync.add("image", 5, "again") is None
    assert sync.repeated == 2


def test_a_repeated_message_does_not_replace_the_first() -> None:
    sync = equal()
    sync.add("image", 5, "first")
    sync.add("image", 5, "second")
    assert sync.add("state", 5, "s")["image"] == "first"


def test_older_incomplete_sets_are_dropped_and_counted() -> None:
    sync = equal()
    for stamp in (1, 2, 3):
        sync.add("image", stamp, stamp)
    assert sync.add("state", 3, 3) == {"image": 3, "state": 3}
    assert sync.dropped == 2
    assert sync.add("state", 2, 2) is None


def test_the_buffer_is_bounded() -> None:
    sync = equal(depth=3)
    for stamp in range(1, 11):
        sync.add("image", stamp, stamp)
    assert sync.dropped == 7
    assert sync.add("state", 10, 10) is not None


@given(st.permutations([(stream, stamp) for stream in ("a", "b", "c") for stamp in (1, 2)]))
def test_no_set_ever_mixes_stamps(order: list[tuple[str, int]]) -> None:
    sync = StampSynchroniser(("a", "b", "c"), 8)
    emitted = [s for stream, stamp in order if (s := sync.add(stream, stamp, stamp)) is not None]
    assert all(len(set(values.values())) == 1 for values in emitted)
    assert len(emitted) == len({s["a"] for s in emitted})


def test_a_restarted_clock_clears_and_says_so() -> None:
    sync = equal()
    for stamp in (100 * SECOND, 101 * SECOND):
        sync.add("image", stamp, 0)
        sync.add("state", stamp, 0)
    assert sync.add("image", SECOND, "i") is None
    assert sync.add("state", SECOND, "s") == {"image": "i", "state": "s"}
    assert sync.notices() == ["image: time went back by 100.000 s; buffers cleared"]
    assert sync.notices() == []


def test_stamp_zero_is_refused_by_name() -> None:
    with pytest.raises(BadStamp, match="image: header stamp is 0"):
        equal().add("image", 0, None)
    with pytest.raises(BadStamp, match="state: header stamp is 0"):
        latest().add("state", 0, None, SECOND)


@pytest.mark.parametrize(
    "offset, text", [(-15.0, "15.000 s in the past"), (3600.0, "3600.000 s ahead"), (1.001, "1.001 s ahead")]
)
def test_stamps_of_another_clock_are_refused_with_their_distance(offset: float, text: str) -> None:
    now = 10_000 * SECOND
    with pytest.raises(BadStamp, match=f"image: stamp lies {text}"):
        latest().add("image", now + round(offset * SECOND), None, now)


def test_the_newest_at_or_before_now() -> None:
    sync, now = latest(), 10 * SECOND
    for stamp in (now - 50 * MS, now, now + 50 * MS):
        sync.add("image", stamp, stamp, now)
    sync.add("state", now - 100 * MS, "s", now)
    assert sync.snapshot(now) == {"image": now, "state": "s"}


def test_a_stream_that_stops_goes_stale_and_recovers() -> None:
    sync, now = latest(), 10 * SECOND
    sync.add("image", now, "i", now)
    sync.add("state", now, "s", now)
    later = now + 201 * MS
    sync.add("state", later, "s", later)
    with pytest.raises(Stale, match=r"image: newest message is 0.201 s old, limit 0.200 s") as caught:
        sync.snapshot(later)
    assert (caught.value.stream, caught.value.age) == ("image", 201 * MS)
    sync.add("image", later, "new", later)
    assert sync.snapshot(later)["image"] == "new"


def test_a_driver_that_repeats_one_stamp_goes_stale() -> None:
    sync, start = latest(), 10 * SECOND
    for i in range(10):
        now = start + i * 33 * MS
        sync.add("state", now, i, now)
        sync.add("image", start, i, now)
    with pytest.raises(Stale, match="image"):
        sync.snapshot(now)


def test_nothing_received_yet() -> None:
    with pytest.raises(Stale, match="image: nothing received yet"):
        latest().snapshot(SECOND)


def test_time_that_goes_back_clears_and_says_so() -> None:
    sync, now = latest(), 10 * SECOND
    sync.add("image", now, "i", now)
    sync.add("state", now, "s", now)
    with pytest.raises(Stale, match="nothing received yet"):
        sync.snapshot(now - 2 * SECOND)
    assert sync.notices() == ["time went back by 2.000 s; buffers cleared"]
