"""What was flushed is there after any end; what is damaged is said, not skipped."""

from __future__ import annotations

import resource
import struct
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load
from synthetic import features, rows

from rlt_ros.rl.codec import Refused, decode, encode
from rlt_ros.rl.journal import HEADER, Journal, JournalError


def assert_equal(a, b):
    """Dataclasses with arrays and nested features."""
    assert type(a) is type(b)
    for name, value in vars(a).items():
        other = getattr(b, name)
        if name == "features":
            assert len(value) == len(other)
            for mine, theirs in zip(value, other):
                assert_equal(mine, theirs)
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, other)
            assert value.dtype == other.dtype
        else:
            assert value == other and type(value) is type(other), name


def assert_holds(journal, entries):
    found = list(journal)
    assert len(found) == len(entries)
    for mine, theirs in zip(entries, found):
        assert_equal(mine, theirs)


def written(directory, entries, **options) -> Journal:
    journal = Journal(directory, **options)
    for entry in entries:
        journal.append(entry)
    journal.flush()
    return journal


@pytest.mark.parametrize("entry", [*rows(8), Refused("s", 9, "why", (features(4, np.random.default_rng(0)),))])
def test_an_entry_survives_the_way_to_bytes_and_back(entry):
    assert_equal(decode(encode(entry)), entry)


def test_records_are_readable_without_this_package(tmp_path):
    row = rows(1)[0]
    written(tmp_path, [row])
    data = (tmp_path / "000001.rlt").read_bytes()
    length, _ = struct.unpack_from("<II", data)
    arrays = load(data[8 : 8 + length])
    np.testing.assert_array_equal(arrays["actions"], row.actions)
    np.testing.assert_array_equal(arrays["features.1.reference"], row.features[1].reference)


def test_everything_is_there_in_order_after_a_restart(tmp_path):
    made = rows(40)
    written(tmp_path, made[:25]).close()
    again = written(tmp_path, made[25:])
    assert_holds(again, made)


def test_segments_follow_each_other(tmp_path):
    made = rows(40)
    journal = written(tmp_path, made, segment_bytes=10_000)
    assert len(journal.segments()) > 2
    assert all(path.stat().st_size <= 10_000 for path in journal.segments())
    assert_holds(Journal(tmp_path, segment_bytes=10_000), made)


@pytest.mark.parametrize("lost", [1, 5, 200])
def test_a_torn_tail_is_cut_off_with_a_warning(tmp_path, caplog, lost):
    made = rows(10)
    journal = written(tmp_path, made)
    path = journal.segments()[0]
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - lost)
    again = Journal(tmp_path)
    assert str(path) in caplog.text
    assert_holds(again, made[:9])
    again.append(made[9])
    assert_holds(Journal(tmp_path), made)


@pytest.mark.parametrize("tail", [b"\x05", b"\x00" * 512, b"\xff" * 300])
def test_a_tail_that_is_no_record_is_cut_off(tmp_path, caplog, tail):
    made = rows(4)
    with written(tmp_path, made).segments()[0].open("ab") as file:
        file.write(tail)
    assert_holds(Journal(tmp_path), made)
    assert f"cutting off {len(tail)} bytes" in caplog.text


@pytest.mark.parametrize("byte", [0, 3, 5, 400])
def test_a_damaged_record_before_others_is_an_error_that_names_file_and_offset(tmp_path, byte):
    """In the length, where it looks like a torn tail, in the checksum and in the payload."""
    made = rows(6)
    path = written(tmp_path, made).segments()[0]
    offset = sum(HEADER.size + len(encode(row)) for row in made[:2])
    data = bytearray(path.read_bytes())
    data[offset + byte] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(JournalError, match=rf"000001.rlt: damaged record at byte {offset} "):
        Journal(tmp_path)


def test_a_short_segment_before_the_last_is_an_error(tmp_path):
    journal = written(tmp_path, rows(40), segment_bytes=10_000)
    first = journal.segments()[0]
    with first.open("r+b") as file:
        file.truncate(first.stat().st_size - 1)
    with pytest.raises(JournalError, match="000001.rlt: damaged record"):
        list(Journal(tmp_path, segment_bytes=10_000))


def test_a_full_disk_leaves_what_was_there_and_the_next_row_is_welcome(tmp_path):
    """The kernel refuses to let the file grow in the middle of a record, as on a full disk."""
    made = rows(6)
    journal = written(tmp_path, made[:4])
    size = journal.segments()[0].stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        with pytest.raises(JournalError, match=rf"000001.rlt: row not written at byte {size}: "):
            journal.append(made[4])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert journal.segments()[0].stat().st_size == size
    for row in made[4:]:
        journal.append(row)
    assert_holds(Journal(tmp_path), made)


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "000001.rlt").mkdir()
    with pytest.raises((JournalError, IsADirectoryError), match="000001.rlt"):
        Journal(tmp_path)


def test_a_row_keeps_the_whole_reference(tmp_path):
    long = replace(rows(1)[0], features=tuple(features(i, np.random.default_rng(0), horizon=20) for i in (1, 2)))
    assert next(iter(written(tmp_path, [long]))).features[1].reference.shape == (20, 3)
