"""`rlt report` on real run directories: whole, unfinished, damaged, foreign."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from rlt_ros.loop.episode_log import FILE as EPISODES
from rlt_ros.report.cli import main, names

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytest.importorskip("torch")

from rlt_ros.report import facts
from rlt_ros.report.episodes import practised
from rlt_ros.report.panels import PANELS, figure
from rlt_ros.report.run import Run, read_run
from rlt_ros.types import Driver

OTHER = b'{"stage": 4, "q_mean": "high", "final": 3}\n'
"""JSON, but not what is expected."""
Copy = Callable[[str], Path]
WITHOUT = {"latency", "alarms"}
"""Panels that a run in one process may have nothing for."""


class Sources(HTMLParser):
    """Everything that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "data")]


def report(*runs: Path, out: Path) -> str:
    assert main([*map(str, runs), "--out", str(out)]) == 0
    return (out / "report.html").read_text()


def read(path: Path) -> Run:
    return read_run(path, path.name)


def looked_at(path: Path) -> Run:
    """Everything that the page says, and all plots, without the seconds that it takes to write them."""
    run = read(path)
    for panel in PANELS:
        figure(panel, [run])
    assert list(facts.tiles(run)) and facts.ending(run)
    list(facts.latency_rows(run))
    facts.scores(run), facts.made_with(run)
    return run


def test_page_holds_everything_and_plots_lie_beside_it(finished: Path, tmp_path: Path) -> None:
    page = report(finished, out=tmp_path / "out")
    loads = Sources()
    loads.feed(page)
    assert loads.found and all(source.startswith("data:") for source in loads.found)
    drawn = {path.stem for path in (tmp_path / "out").glob("*.png")}
    assert {panel.name for panel in PANELS} - drawn <= WITHOUT
    for png in (tmp_path / "out").glob("*.png"):
        assert png.read_bytes().startswith(b"\x89PNG")
    assert "monday" in page and "ended as planned" in page and "learned actor at 0.2 min" in page
    assert not re.search(r"\b(nan|inf)\b", re.sub(r'"data:[^"]*"', "", page))


def test_figures_are_those_of_the_summary(finished: Path) -> None:
    run, summary = read(finished), json.loads((finished / "summary.json").read_text())
    assert facts.score_of(run, "final").successes == summary["final"]["successes"]
    practice = practised(run.episodes)
    assert len(practice) == summary["practice"]["episodes"]
    assert sum(e.success for e in practice) == summary["practice"]["successes"]
    moment = summary["moments"][0]["practised_minutes"]
    assert min(abs(e.minutes - moment) for e in run.episodes if e.stage == "practice") < 1e-3
    assert [e for e in run.episodes if e.stage == "final_with_noise"]
    driven = sum(e.drivers.get("HUMAN", 0) for e in practice)
    assert 0 < driven < sum(e.steps for e in practice)
    assert run.curves.minutes.max() <= practice[-1].minutes and (np.diff(run.curves.minutes) >= 0).all()


def test_log_and_stored_rows_tell_the_same_practice(copy: Copy) -> None:
    path = copy("without-log")
    logged = practised(read(path).episodes)
    (path / EPISODES).unlink()
    run = read(path)
    stored = practised(run.episodes)
    assert [(e.label, e.steps) for e in stored] == [(e.label, e.steps) for e in logged]
    # Rows lie on a grid of two steps.
    for one, two in zip(stored, logged):
        human = Driver.HUMAN.name
        assert abs(one.drivers.get(human, 0) - two.drivers.get(human, 0)) <= 2
    assert any(sentence.startswith(EPISODES) for sentence in run.missing)


def test_pictures_of_first_and_last_episodes_are_shown(finished: Path, tmp_path: Path) -> None:
    page = report(finished, out=tmp_path)
    files = sorted(path.name for path in (finished / "pictures").iterdir())
    stages = {name.rsplit("-", 1)[0] for name in files}
    assert {"practice", "base", "final"} <= stages
    assert sum(name.startswith("practice-") for name in files) <= 6
    assert page.count("pictures of phase") == len(files)


def test_a_killed_run_says_so(copy: Copy, tmp_path: Path) -> None:
    path = copy("killed")
    (path / "summary.json").unlink()
    life = path / "processes" / "fast.jsonl"
    life.write_text(life.read_text().splitlines()[0] + "\n")
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"time": 17, "rows_rec')
    page = report(path, out=tmp_path / "out")
    assert "killed or still running; last sign of life" in page
    assert "summary.json: not there" in page and "metrics.jsonl: 1 of" in page
    assert "learned actor" in page, "evaluation episodes that ended are counted"


@pytest.mark.parametrize("left", ["metrics.jsonl", "transitions", EPISODES, "checkpoints", "processes", "summary.json"])
def test_any_single_file_is_enough(left: str, finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "rest"
    path.mkdir()
    (shutil.copytree if (finished / left).is_dir() else shutil.copy)(finished / left, path / left)
    assert looked_at(path).missing


@pytest.mark.parametrize("name", ["metrics.jsonl", EPISODES, "summary.json", "settings.json", "latency.json"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe" * 50, b"[]\n3\n", OTHER])
def test_a_damaged_file_costs_what_it_held_and_no_more(name: str, content: bytes, copy: Copy) -> None:
    path = copy("damaged")
    (path / name).write_bytes(content)
    run, whole = looked_at(path), copy("whole")
    assert run.lives == read(whole).lives
    if content.startswith(b"\x00"):
        assert any(sentence.startswith(name) for sentence in run.missing)


def test_numbers_that_are_none_are_not_drawn(copy: Copy, tmp_path: Path) -> None:
    path = copy("strange")
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    for line, value in zip(lines, [float("nan"), float("inf"), None, "high", 1e400] * len(lines)):
        line |= {"q_mean": value, "critic_loss": value, "weights_age": value}
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = read(path)
    assert not np.isinf(run.curves["q_mean"]).any() and not run.curves.known("q_mean")
    report(path, out=tmp_path / "out")
    assert not (tmp_path / "out" / "q.png").exists()


def test_several_runs_stand_side_by_side(finished: Path, copy: Copy, tmp_path: Path) -> None:
    from small_run import run_into

    other = tmp_path / "tuesday"
    run_into(other, seed=2, bc_beta=0.5)
    page = report(finished, other, out=tmp_path / "both")
    assert "monday" in page and "tuesday" in page
    assert "agent.bc_beta" in page and "session.seed" in page, "settings that differ"
    assert page.count("of 2:") >= 4


@pytest.mark.parametrize("kind", ["absent", "file", "empty", "foreign"])
def test_what_is_no_run_is_refused_by_name(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "elsewhere"
    if kind == "file":
        path.write_text("{}")
    elif kind != "absent":
        path.mkdir()
    if kind == "foreign":
        (path / "config.json").write_text("{}")
    assert main([str(path)]) == 2
    assert str(path) in capsys.readouterr().err
    assert list(tmp_path.glob("**/report*")) == []


def test_a_picture_outside_the_run_is_not_shown(copy: Copy, tmp_path: Path) -> None:
    path = copy("moved")
    (tmp_path / "secret.png").write_bytes(b"\x89PNG secret")
    (path / EPISODES).write_text('{"stage": "practice", "label": "SUCCESS", "pictures": {"file": "../secret.png"}}\n')
    assert "pictures of phase" not in report(path, out=tmp_path / "out")


def test_names_are_as_short_as_tells_them_apart() -> None:
    paths = [Path("/a/x/seed1"), Path("/a/y/seed1")]
    assert names(paths) == ["x/seed1", "y/seed1"]
    assert names([Path("/a/x/seed1")]) == ["seed1"]


def test_a_day_of_metrics_is_thinned_to_what_a_plot_can_show(copy: Copy) -> None:
    path = copy("long")
    lines = (path / "metrics.jsonl").read_text().splitlines()
    (path / "metrics.jsonl").write_text("\n".join(lines * (20_000 // len(lines))) + "\n")
    curves = read(path).curves
    assert 1000 < len(curves.minutes) <= 3002
    assert curves["rows_received"][-1] == json.loads(lines[-1])["rows_received"]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_a_browser_shows_it(finished: Path, tmp_path: Path) -> None:
    """Headless, without a network: every picture has been loaded and drawn."""
    import cv2

    report(finished, out=tmp_path / "out")
    page, shot = tmp_path / "out" / "report.html", tmp_path / "shot.png"
    options = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    command = ["chromium", *options.split(), f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1500,1200"]
    subprocess.run([*command, f"--screenshot={shot}", f"file://{page}"], timeout=120, check=True, capture_output=True)
    picture = cv2.imread(str(shot))
    assert picture.shape == (1200, 1500, 3)
    blue = np.array([180, 111, 31])  # of the first run's lines, BGR
    lines = np.abs(picture.astype(int) - blue).max(axis=2) < 12
    assert lines[:, :750].sum() > 300 and lines[500:, 750:].sum() > 100, "plots on both sides of the page"
