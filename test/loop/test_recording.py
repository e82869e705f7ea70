"""The recording thread and what it leaves on disk, whatever happens. Field reports B24, B30, B32, B33."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from demonstrations import give, number_of, observation, step, stream
from loop_parts import ROBOT, stamp
from official_run import dumped, needs_lerobot

from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.writer import DatasetWriter
from rlt_ros.loop.collect_dataset import RUNS, DatasetConfig, check_place, open_dataset, write_run
from rlt_ros.loop.collector import Collector, summary_text
from rlt_ros.loop.recording import RecordingThread
from rlt_ros.types import Driver, ExecutedStep, Label, Observation

PHASES = [(5, Label.SUCCESS), (4, Label.DISCARD), (6, Label.SUCCESS)]
FIRST, THIRD = range(3, 8), range(16, 22)
WITHIN = 20.0


@pytest.fixture()
def out(tmp_path: Path) -> Path:
    return tmp_path / "demos"


def started(out: Path, writer: Callable[[DatasetWriter], Any] = lambda w: w, **options: Any) -> Collector:
    """A collector on a real dataset. writer: what is put around the dataset's writer."""
    config = DatasetConfig(out=str(out), storage="image", resume=options.pop("resume", False))
    dataset, form = open_dataset(config, ROBOT, observation(1))
    wanted = options.pop("wanted", 0)
    return Collector(RecordingThread(writer(dataset), form, out, **({"floor": 0} | options)), wanted)


def settled(collector: Collector, phase_id: int) -> list[str]:
    """Wait until the thread has dealt with a phase; returns all warnings until then."""
    warnings, end = [], time.monotonic() + WITHIN
    while collector.status.settled < phase_id:
        warnings += collector.poll()[1]
        assert time.monotonic() < end, f"phase {phase_id} was not settled"
        time.sleep(0.002)
    return warnings


def check(out: Path, *expected: range) -> None:
    """The dataset loads and holds these demonstrations and nothing else."""
    dataset = DatasetReader(out)
    assert [len(episode) for episode in dataset] == [len(ids) for ids in expected]
    for episode, ids in zip(dataset, expected):
        episode.check_grid(20)
        assert np.array_equal(episode.arrays["stamp"], [stamp(i) for i in ids])
        assert np.array_equal(episode.arrays["observation.state"], [observation(i).proprio for i in ids])
        assert np.array_equal(episode.arrays["action"], [step(i, 1).sent for i in ids])
        for camera in ("front", "wrist"):
            shown = episode.pictures(f"observation.images.{camera}")
            assert all(np.array_equal(rgb, observation(i).images[camera]) for rgb, i in zip(shown, ids, strict=True))
        assert episode.arrays["next.success"].tolist() == [False] * (len(ids) - 1) + [True]
        assert set(episode.tasks) == {"insert the peg"}
    assert not [path for path in out.rglob("*") if "partial" in path.name]


def test_what_was_demonstrated_is_on_disk_frame_for_frame(out: Path) -> None:
    collector = started(out)
    give(collector.joiner, stream(PHASES))
    assert settled(collector, 3) == []
    assert collector.close(WITHIN)
    check(out, FIRST, THIRD)
    summary = collector.summary()
    assert (summary["saved"], summary["frames"], summary["discarded"], summary["refused"]) == (2, 11, 1, [])
    assert "saved 2 demonstrations, 11 frames\ndiscarded 1, refused 0" in summary_text(summary, str(out))


@needs_lerobot
def test_the_official_loader_reads_what_was_collected_frame_for_frame(out: Path, tmp_path: Path) -> None:
    collector = started(out)
    give(collector.joiner, stream(PHASES))
    settled(collector, 3)
    collector.close(WITHIN)
    write_run(out, collector.summary())
    found, ids = dumped(out, tmp_path / "frames.npz"), [*FIRST, *THIRD]
    assert np.array_equal(found["observation.state"], [observation(i).proprio for i in ids])
    assert np.array_equal(found["action"], [step(i, 1).sent for i in ids])
    assert np.array_equal(found["observation.images.front"], [observation(i).images["front"] for i in ids])
    assert np.array_equal(found["stamp"].ravel(), [stamp(i) for i in ids])
    assert set(found["task"]) == {"insert the peg"} and int(found["episodes"]) == 2


def test_who_drove_is_a_column_and_holds_are_told(out: Path) -> None:
    collector = started(out)
    for message in stream([(5, Label.SUCCESS)]):
        if isinstance(message, ExecutedStep) and message.observation_id in (4, 5):
            message = step(message.observation_id, 1, Driver.HOLD, reason="force: 45 N")
        give(collector.joiner, [message])
    [warning] = settled(collector, 1)
    assert "2 held steps, most for: force: 45 N" in warning
    assert collector.close(WITHIN)
    [episode] = DatasetReader(out)
    assert episode.arrays["driver"].tolist() == [2, 3, 3, 2, 2]
    assert collector.summary()["held_steps"] == {"force: 45 N": 2}


def test_recording_ends_when_enough_are_saved(out: Path) -> None:
    collector = started(out, wanted=1)
    give(collector.joiner, stream(PHASES))
    settled(collector, 1)
    assert collector.finished
    collector.close(WITHIN)
    assert collector.tally.saved == 1 and collector.tally.discarded == 0


def test_recording_goes_on_in_an_existing_dataset(out: Path) -> None:
    for run in range(2):
        collector = started(out, resume=run > 0)
        give(collector.joiner, stream(PHASES[:1]))
        settled(collector, 1)
        collector.close(WITHIN)
        write_run(out, collector.summary())
    check(out, FIRST, FIRST)
    assert (out / RUNS).read_text().count('"saved": 1') == 2


def test_a_place_that_cannot_be_used_is_refused_before_anything_moves(out: Path) -> None:
    with pytest.raises(ValueError, match="no dataset to resume"):
        check_place(DatasetConfig(out=str(out), resume=True))
    check_place(DatasetConfig(out=str(out)))
    out.mkdir()
    with pytest.raises(ValueError, match="exists already.*resume:=true"):
        check_place(DatasetConfig(out=str(out)))
    with pytest.raises(ValueError, match="out is empty"):
        DatasetConfig()


def test_a_dataset_of_other_pictures_is_not_appended_to(out: Path) -> None:
    started(out).close(WITHIN)
    other = observation(1)
    other = replace(other, images={name: np.zeros((32, 32, 3), np.uint8) for name in other.images})
    with pytest.raises(ValueError, match=r"observation.images.front.*32.*16"):
        open_dataset(DatasetConfig(out=str(out), storage="image", resume=True), ROBOT, other)


class Gated:
    """A writer that waits at a gate before every frame, as one on a slow disk does."""

    def __init__(self, writer: DatasetWriter) -> None:
        self.gate = threading.Event()
        self._writer = writer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def add_frame(self, *values: Any) -> None:
        assert self.gate.wait(WITHIN)
        self._writer.add_frame(*values)


def gated(out: Path, **options: Any) -> tuple[Collector, Gated]:
    made: list[Gated] = []
    return started(out, lambda writer: made.append(Gated(writer)) or made[0], **options), made[0]


def test_a_slow_writer_delays_nothing(out: Path) -> None:
    collector, writer = gated(out)
    before = time.monotonic()
    give(collector.joiner, stream(PHASES))
    assert time.monotonic() - before < 1.0 and collector.status.backlog > 0
    writer.gate.set()
    settled(collector, 3)
    collector.close(WITHIN)
    check(out, FIRST, THIRD)


def test_a_writer_that_is_too_slow_costs_a_demonstration_and_says_so(out: Path) -> None:
    frame = sum(rgb.nbytes for rgb in observation(1).images.values())
    collector, writer = gated(out, backlog=3 * frame)
    messages = list(stream(PHASES))
    give(collector.joiner, (m for m in messages if number_of(m) < 12))
    assert collector.status.backlog <= 3 * frame
    writer.gate.set()
    warnings = settled(collector, 1)
    assert any("wait to be written: the disk or the encoder is too slow" in warning for warning in warnings)
    assert collector.status.failure == "", "the next one may be recorded"
    for message in messages:
        if number_of(message) >= 12:
            while collector.status.backlog:
                time.sleep(0.001)
            give(collector.joiner, [message])
    settled(collector, 3)
    collector.close(WITHIN)
    check(out, THIRD)


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Writes beyond fail with an OSError, as on a full disk; only within, since pytest writes files too."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_told_nothing_more_is_recorded_and_the_dataset_is_as_before(out: Path) -> None:
    collector = started(out)
    messages = list(stream(PHASES))
    give(collector.joiner, (m for m in messages if number_of(m) <= 13))
    settled(collector, 1)
    with no_file_larger_than(2000):
        give(collector.joiner, (m for m in messages if number_of(m) > 13))
        warnings = settled(collector, 3)
    assert any(f"writing {out}" in w and "NOT RECORDING" in w for w in warnings)
    assert "File too large" in collector.failure
    assert collector.summary()["refused"][0]["phase"] == 3
    assert collector.close(WITHIN)
    check(out, FIRST)
    again = started(out, resume=True)
    give(again.joiner, stream(PHASES))
    settled(again, 3)
    again.close(WITHIN)
    check(out, FIRST, FIRST, THIRD)


def test_below_the_floor_of_free_space_nothing_is_taken_until_there_is_room(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 10**7
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    collector = started(out, floor=2 * 10**7)
    messages = list(stream(PHASES))
    give(collector.joiner, (m for m in messages if number_of(m) <= 13))
    warnings = settled(collector, 1)
    assert any("NOT RECORDING: 10 MB free" in warning for warning in warnings)
    free = 10**9
    assert collector.poll()[1] == ["recording is possible again"]
    give(collector.joiner, (m for m in messages if number_of(m) > 13))
    settled(collector, 3)
    collector.close(WITHIN)
    check(out, THIRD)


def test_a_disk_that_is_pulled_out_is_told_and_ends_nothing(out: Path) -> None:
    collector = started(out)
    give(collector.joiner, stream(PHASES[:1]))
    settled(collector, 1)
    out.rename(out.with_name("elsewhere"))
    _, warned = collector.poll()
    assert any("NOT RECORDING" in line and str(out) in line for line in warned)
    assert str(out) in collector.status.failure
    assert collector.joiner.take is None and collector.close(WITHIN)
    check(out.with_name("elsewhere"), FIRST)


def test_a_frame_that_does_not_fit_costs_its_demonstration_only(out: Path) -> None:
    collector = started(out)
    for message in stream(PHASES):
        if isinstance(message, Observation) and message.id == 5:
            message = replace(message, proprio=np.full(19, np.nan, np.float32))
        give(collector.joiner, [message])
    warnings = settled(collector, 3)
    assert any("demonstration 1 refused: observation.state: not finite" in warning for warning in warnings)
    collector.close(WITHIN)
    check(out, THIRD)


def test_ending_with_a_backlog_saves_what_is_complete_and_drops_what_is_not(out: Path) -> None:
    collector, writer = gated(out)
    give(collector.joiner, (m for m in stream(PHASES) if number_of(m) <= 18))
    assert collector.status.backlog > 0 and collector.tally.saved == 0
    threading.Timer(0.1, writer.gate.set).start()
    assert collector.close(WITHIN)
    check(out, FIRST)
    assert collector.summary()["refused"] == [{"phase": 3, "reason": "interrupted: recording has ended"}]


@pytest.mark.parametrize("storage", ["image", "video"])
@pytest.mark.parametrize("delay", [0.0, 0.03])
def test_a_collector_that_is_killed_leaves_a_valid_dataset(out: Path, storage: str, delay: float) -> None:
    script = Path(__file__).with_name("record_for_ever.py")
    paths = ":".join([str(script.parent), *sys.path])
    command = [sys.executable, str(script), str(out), storage]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": paths}) as process:
        told = 0
        while told < 3:
            told = int(process.stdout.readline())
        time.sleep(delay)
        process.kill()
        told = max([told, *map(int, process.stdout.read().split())])
    dataset = DatasetReader(out)
    assert told <= len(dataset) <= told + 1, "no demonstration that was reported as saved is lost"
    assert all(len(episode) == 5 for episode in dataset)
    for episode in dataset:
        assert len(list(episode.pictures("observation.images.front"))) == 5
    with DatasetWriter.open(out) as writer:
        assert writer.episodes == len(dataset)
