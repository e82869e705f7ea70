"""What the operator's side leaves in the run directory: episodes, strips, latencies, processes."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from rlt_ros.loop import episode_log, latency
from rlt_ros.loop.episode_log import EpisodeResult
from rlt_ros.loop.latency import Histogram
from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.processes import Life
from rlt_ros.loop.run_log import RunLog
from rlt_ros.loop.strips import FRAMES, GAP, KEEP, Thinned
from rlt_ros.types import EpisodeEvent, Label


def result(phase_id: int, stage: str = "practice") -> EpisodeResult:
    event = EpisodeEvent(100 * phase_id, 5_000_000_000 * phase_id, phase_id, phase_id, Label.SUCCESS)
    return EpisodeResult.of(event, EpisodePlan(stage=stage), 30, 60, {"VLA": 20, "HUMAN": 10}, True, True)


def picture(value: int) -> dict[str, np.ndarray]:
    return {name: np.full((6, 8, 3), value, np.uint8) for name in ("front", "wrist")}


def lines(run_dir: Path) -> list[dict]:
    return [json.loads(line) for line in (run_dir / episode_log.FILE).read_text().splitlines()]


@pytest.mark.parametrize("count", [1, 2, FRAMES, FRAMES + 1, 17, 1000])
def test_a_few_of_many_are_kept_from_first_to_last(count: int) -> None:
    thinned: Thinned[str] = Thinned(FRAMES)
    for number in range(count):
        thinned.add(number, f"thing {number}")
    numbers = [number for number, _ in thinned.chosen(FRAMES)]
    assert len(numbers) == min(count, FRAMES) == len(set(numbers))
    assert numbers[0] == 0 and numbers[-1] == count - 1
    assert max(np.diff(numbers), default=1) <= 2 * count / FRAMES + 2
    thinned.clear()
    assert thinned.chosen(FRAMES) == []


def test_each_episode_is_a_line_with_the_place_of_its_pictures(tmp_path: Path) -> None:
    log = RunLog(tmp_path, pytest.fail, picture, 20.0)
    for step in range(30):
        log.seen(step, step)
    log.took("response", 0.02)
    log.ended(result(7))
    log.ended(result(8))  # nothing was seen of this one
    log.close()
    first, second = lines(tmp_path)
    assert (first["label"], first["steps"], first["stage"]) == ("SUCCESS", 30, "practice")
    assert first["drivers"] == {"VLA": 20, "HUMAN": 10}
    assert "pictures" not in second and second["phase_id"] == 8
    strip = cv2.imread(str(tmp_path / first["pictures"]["file"]))
    assert strip.shape == (2 * (6 + GAP), FRAMES * (8 + GAP), 3) and first["pictures"]["cameras"] == ["front", "wrist"]
    assert strip[0, :: 8 + GAP, 0].tolist() == first["pictures"]["steps"]
    assert latency.read(tmp_path)["response"].counts.sum() == 1


def test_pictures_of_first_and_newest_episodes_stay(tmp_path: Path) -> None:
    log = RunLog(tmp_path, pytest.fail, picture, 20.0)
    for phase_id in range(1, 21):
        log.seen(0, phase_id)
        log.ended(result(phase_id))
    log.close()
    wanted = {f"practice-{number:06d}.png" for number in (1, 2, 3, 18, 19, 20)}
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == wanted and KEEP == 3
    assert len(lines(tmp_path)) == 20


def test_a_disk_that_refuses_is_told_once_and_stops_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    log = RunLog(tmp_path / "gone", told.append, picture, 20.0)
    for phase_id in (1, 2, 3):
        log.ended(result(phase_id))
    log.close()
    assert len(told) == 1 and "gone" in told[0]


def test_pictures_that_are_none_cost_the_strip_only(tmp_path: Path) -> None:
    def refused(observation: object) -> dict[str, np.ndarray]:
        raise ValueError("image of 0 x 0")

    log = RunLog(tmp_path, pytest.fail, refused, 20.0)
    log.seen(0, None)
    log.ended(result(1))
    log.close()
    assert "pictures" not in lines(tmp_path)[0]


def test_quantiles_of_a_histogram_are_right_within_a_bin() -> None:
    histogram, values = Histogram(), np.random.default_rng(0).lognormal(-4.0, 0.5, 5000)
    for value in (*values, float("nan"), float("inf")):
        histogram.add(value)
    assert histogram.counts.sum() == 5000 and histogram.largest == values.max()
    for share in (0.5, 0.99):
        assert 1.0 <= histogram.quantile(share) / np.quantile(values, share) < 1.13
    assert np.isnan(Histogram().quantile(0.5))


def test_latencies_outside_the_bins_are_counted(tmp_path: Path) -> None:
    histogram = Histogram()
    for value in (-0.5, 1e-6, 100.0):
        histogram.add(value)
    latency.write(tmp_path, {"period": histogram})
    back = latency.read(tmp_path)["period"]
    assert back.counts[0] == 2 and back.counts[-1] == 1 and back.quantile(1.0) == back.largest == 100.0


SHORT = '{"seconds": {"a": {"counts": [1, 2], "largest": 0}}}'


@pytest.mark.parametrize("content", ["", "[]", SHORT, '{"seconds": 3}'])
def test_a_file_that_holds_no_latencies_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / latency.FILE).write_text(content)
    with pytest.raises(ValueError, match=latency.FILE):
        latency.read(tmp_path)


def test_a_process_says_when_it_began_how_it_ended_and_what_it_was(tmp_path: Path) -> None:
    life = Life(tmp_path, "learner", {"utd": 5})
    Life(tmp_path, "learner", {}).ended("done")
    life.ended("stopped from outside")
    told = [json.loads(line) for line in (tmp_path / "processes" / "learner.jsonl").read_text().splitlines()]
    assert ["began" in line for line in told] == [True, True, False, False]
    assert told[0]["settings"] == {"utd": 5} and told[0]["versions"]["numpy"] == np.__version__
    assert told[0]["machine"]["cores"] >= 1
    assert [line.get("how") for line in told[2:]] == ["done", "stopped from outside"]


def test_a_process_that_cannot_be_told_of_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "processes").write_text("a file in the way")
    Life(tmp_path, "learner", {}).ended("done")
    assert "processes" in capsys.readouterr().err
