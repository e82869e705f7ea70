"""Films of the first and the last episode of each evaluation."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_run_log import picture, result

from rlt_ros.loop import films
from rlt_ros.loop.episode_log import EpisodeResult
from rlt_ros.loop.films import CAPTION, LAST, SIDE, Film
from rlt_ros.loop.run_log import RunLog


def evaluated(phase_id: int, stage: str) -> EpisodeResult:
    from dataclasses import replace

    return replace(result(phase_id, stage), evaluation=True, label="FAILURE", steps=100)


def moving(step: int) -> dict[str, np.ndarray]:
    """A white column that goes to the right."""
    pictures = {name: np.zeros((6, 8, 3), np.uint8) for name in ("front", "wrist")}
    for each in pictures.values():
        each[:, step % 8] = 255
    return pictures


def watch(log: RunLog, phase_id: int, stage: str, steps: int = 5) -> None:
    for step in range(steps):
        log.seen(step, step)
    log.ended(evaluated(phase_id, stage))


def names(run_dir: Path) -> set[str]:
    return {path.name for path in (run_dir / films.FOLDER).iterdir()}


def test_a_film_plays_as_the_episode_went() -> None:
    film = Film([(0, moving(0)), (1, moving(1)), (5, moving(5))], "final: success after 6 steps")
    image = Image.open(io.BytesIO(film.gif(rate=20.0)))
    assert image.n_frames == 3 and image.size == (2 * 256, SIDE + CAPTION)
    times = []
    for frame in range(3):
        image.seek(frame)
        times.append(image.info["duration"])
        row = np.array(image.convert("L"))[SIDE // 2]
        assert row.argmax() == (0, 32, 160)[frame] and (row[row.argmax() : row.argmax() + 32] > 200).all()
        assert np.array(image.convert("L"))[SIDE:].max() > 200  # the caption
    assert times == [50, 200, round(1e3 * LAST)]


def test_the_first_and_the_last_episode_of_each_evaluation(tmp_path: Path) -> None:
    log = RunLog(tmp_path, pytest.fail, moving, 20.0)
    for phase_id, stage in enumerate(["base", "base", "base", "final", "final_with_noise", "final_with_noise"], 1):
        watch(log, phase_id, stage, steps=phase_id + 1)
    log.close(20.0)
    wanted = {"base-first", "base-last", "final-first", "final_with_noise-first", "final_with_noise-last"}
    assert names(tmp_path) == {f"{name}.gif" for name in wanted}
    frames = {path.stem: Image.open(path).n_frames for path in (tmp_path / films.FOLDER).iterdir()}
    assert (frames["base-first"], frames["base-last"], frames["final_with_noise-last"]) == (2, 4, 7)


def test_practice_is_not_filmed(tmp_path: Path) -> None:
    log = RunLog(tmp_path, pytest.fail, moving, 20.0)
    log.seen(0, 0)
    log.ended(result(1))
    log.close(20.0)
    assert not (tmp_path / films.FOLDER).exists()


def test_a_long_episode_makes_no_longer_film(tmp_path: Path) -> None:
    log = RunLog(tmp_path, pytest.fail, moving, 20.0)
    watch(log, 1, "base", steps=1000)
    log.close(60.0)
    image = Image.open(tmp_path / films.FOLDER / "base-first.gif")
    assert image.n_frames <= films.FRAMES
    total = 0.0
    for frame in range(image.n_frames):
        image.seek(frame)
        total += image.info["duration"]
    assert total == pytest.approx(1e3 * (999 / 20.0 + LAST), rel=0.02)


def test_a_disk_that_refuses_films_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / films.FOLDER).write_text("a file in the way")
    log = RunLog(tmp_path, told.append, picture, 20.0)
    watch(log, 1, "base")
    watch(log, 2, "base")
    log.close(20.0)
    assert len(told) == 1 and films.FOLDER in told[0]
