"""A run directory as it is found: finished, under way, killed or damaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros.loop import latency
from rlt_ros.loop.episode_log import FILE as EPISODES
from rlt_ros.loop.latency import Histogram
from rlt_ros.loop.processes import FOLDER as PROCESSES
from rlt_ros.report.curves import Curves, curves
from rlt_ros.report.episodes import Episode, read_episodes
from rlt_ros.report.lines import Say, number, read_lines, read_object

SUMMARY, METRICS, SETTINGS = "summary.json", "metrics.jsonl", "settings.json"
SIGNS = (SUMMARY, METRICS, EPISODES, "transitions", "checkpoints", PROCESSES)
"""Of these a run directory has at least one."""
CONTROL_RATE = 20.0
"""Hz, where a run does not say."""


class NoRun(ValueError):
    """A path that is no run directory; says which."""


@dataclass(frozen=True)
class Run:
    """What is known of a run. missing: what is not, in sentences. lives: process -> its lines.

    settings: part -> values. time_limit: control steps that a failure counts as, None if unknown. last_sign: wall time
    of its newest file.
    """

    path: Path
    name: str
    episodes: list[Episode]
    curves: Curves
    summary: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Any]]
    lives: Mapping[str, list[dict[str, Any]]]
    latencies: Mapping[str, Histogram]
    control_rate: float
    time_limit: int | None
    last_sign: float
    missing: list[str]


def read_run(path: Path, name: str) -> Run:
    """Read all that is there. name: what the page calls it. Raises NoRun."""
    if not path.is_dir():
        raise NoRun(f"{path}: {'no directory' if path.exists() else 'does not exist'}; expected a run directory")
    if not any((path / sign).exists() for sign in SIGNS):
        raise NoRun(f"{path}: no run directory; expected one of {', '.join(SIGNS)} in it")
    missing: list[str] = []
    say = missing.append
    lives = _lives(path / PROCESSES, say)
    settings = _settings(path, lives, say)
    session = settings.get("session", {})
    rate, limit = number(session, "control_rate", CONTROL_RATE), session.get("time_limit")
    episodes = read_episodes(path, rate if rate > 0 else CONTROL_RATE, say)
    return Run(
        path,
        name,
        episodes,
        curves(read_lines(path / METRICS, say), episodes),
        read_object(path / SUMMARY, say),
        settings,
        lives,
        _latencies(path, say),
        rate,
        limit if isinstance(limit, int) else None,
        _last_sign(path),
        missing,
    )


def _lives(folder: Path, say: Say) -> dict[str, list[dict[str, Any]]]:
    if not folder.is_dir():
        say(f"{folder.name}: not there; versions, machine and the kind of end are not known")
        return {}
    return {path.stem: read_lines(path, say) for path in sorted(folder.glob("*.jsonl"))}


def _settings(path: Path, lives: Mapping[str, list[dict[str, Any]]], say: Say) -> dict[str, dict[str, Any]]:
    if (path / SETTINGS).is_file():
        stored = read_object(path / SETTINGS, say)
        parts = {part: values for part, values in stored.items() if isinstance(values, dict)}
        return {"run": {k: v for k, v in stored.items() if k not in parts}, **parts}
    parts = {name: line["settings"] for name, lines in lives.items() for line in lines if line.get("settings")}
    if "teleop" in parts:
        parts["session"] = parts["teleop"]
    if not parts:
        parts = _of_checkpoint(path / "checkpoints", say)
    return parts


def _of_checkpoint(folder: Path, say: Say) -> dict[str, dict[str, Any]]:
    states = sorted(folder.glob("[0-9]*/state.json"))
    config = read_object(states[-1], say).get("config") if states else None
    if isinstance(config, dict):
        return {"agent": config}
    say("settings: neither settings.json nor processes nor a checkpoint has any")
    return {}


def _latencies(path: Path, say: Say) -> dict[str, Histogram]:
    try:
        found = latency.read(path)
    except ValueError as error:
        say(str(error).replace(f"{path}/", ""))
        return {}
    if not found:
        say(f"{latency.FILE}: not there (a run in one process has none)")
    return found


def _last_sign(path: Path) -> float:
    """Wall time of the newest change to any file of the run, the report's own left out."""
    names = (SUMMARY, METRICS, EPISODES, SETTINGS, latency.FILE, "policy.safetensors")
    files = [*(path / name for name in names), *path.glob("transitions/*"), *path.glob(f"{PROCESSES}/*")]
    return max((f.stat().st_mtime for f in files if f.is_file()), default=path.stat().st_mtime)
