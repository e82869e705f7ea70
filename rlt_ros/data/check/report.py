"""The report of a survey: text for people, a dictionary for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rlt_ros.data.check.findings import Finding, errors
from rlt_ros.data.check.survey import Survey
from rlt_ros.data.check.tally import EpisodeTally
from rlt_ros.data.lerobot.features import cameras, picture_shape

EPISODES, ALIKE = 30, 5
"""Lines of the table of episodes, and findings of one kind that are written out."""


def verdict(findings: Sequence[Finding]) -> str:
    """The last line: whether Stage 1 may start."""
    wrong = len(errors(findings))
    may = "Stage 1 must not start" if wrong else "Stage 1 may start"
    return f"{may}: {_count(wrong, 'error')}, {_count(len(findings) - wrong, 'warning')}"


def text(survey: Survey) -> str:
    """Several lines, without the verdict."""
    parts = (_head(survey), _episodes(survey), _dimensions(survey), _findings(survey.findings))
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def to_dict(survey: Survey) -> dict[str, Any]:
    """The same and more; every number that is not finite is in words only."""
    reader, tally = survey.reader, survey.tally
    return {
        "dataset": str(reader.root),
        "version": reader.version,
        "fps": reader.fps,
        "frames": reader.frames,
        "cameras": {key: list(picture_shape(reader.features[key])) for key in cameras(reader.features)},
        "tasks": list(reader.tasks.values()),
        "pictures_checked": survey.pictures,
        "episodes": [_episode_dict(episode) for episode in tally.episodes],
        "dimensions": list(_dimension_dicts(survey)),
        "checkpoint": survey.checkpoint.to_dict() if survey.checkpoint else None,
        "findings": [finding.to_dict() for finding in survey.findings],
        "errors": len(errors(survey.findings)),
        "stage1_may_start": not errors(survey.findings),
    }


def _head(survey: Survey) -> Iterator[str]:
    reader = survey.reader
    seconds = reader.frames / reader.fps
    yield f"{reader.root}: LeRobot {reader.version}"
    size = f"{_count(len(reader), 'episode')}, {reader.frames} frames"
    yield f"  {size} at {reader.fps:g} fps: {seconds / 60:.1f} minutes"
    for key in cameras(reader.features):
        height, width, _ = picture_shape(reader.features[key])
        yield f"  {key}: {reader.features[key]['dtype']}, {width} x {height}"
    for index, task in reader.tasks.items():
        yield f"  task {index}: {task!r}"


def _episodes(survey: Survey) -> Iterator[str]:
    episodes = survey.tally.episodes
    yield "episode  frames  seconds  success  gripper changes  longest same picture (frames)"
    for episode in episodes[:EPISODES]:
        success = {True: "yes", False: "no", None: "-"}[episode.success]
        gripper = "-" if episode.gripper is None else episode.gripper
        still = ", ".join(f"{key.rsplit('.', 1)[-1]} {count}" for key, count in episode.still.items()) or "-"
        yield f"{episode.index:>7}  {episode.frames:>6}  {episode.seconds:>7.2f}  {success:>7}  {gripper:>15}  {still}"
    if len(episodes) > EPISODES:
        yield f"... and {len(episodes) - EPISODES} more (--json has all)"


def _dimensions(survey: Survey) -> Iterator[str]:
    rows = list(_dimension_dicts(survey))
    width = max((len(row["column"]) for row in rows), default=0)
    outside = "  outside checkpoint" if survey.checkpoint else ""
    if rows:
        yield f"{'dimension':<{width}}  {'min':>10} {'q01':>10} {'median':>10} {'q99':>10} {'max':>10}{outside}"
    for row in rows:
        marks = " ".join(f"{row[name]:>10.4g}" for name in ("min", "q01", "median", "q99", "max"))
        share = row.get("outside_checkpoint")
        yield f"{row['column']:<{width}}  {marks}" + (f"  {share:>18.1%}" if share is not None else "")


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    kinds: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda f: f.severity):
        kinds[finding.severity, finding.code, finding.column].append(finding)
    for alike in kinds.values():
        yield from map(str, alike[:ALIKE])
        rest = [str(finding.episode) for finding in alike[ALIKE:]]
        if rest:
            more = f", .. {rest[-1]}" if len(rest) > 20 else ""
            yield f"        {alike[0].code}: and in {len(rest)} more: {', '.join(rest[:20])}{more}"


def _episode_dict(episode: EpisodeTally) -> dict[str, Any]:
    return {
        "episode": episode.index,
        "frames": episode.frames,
        "seconds": episode.seconds,
        "tasks": list(episode.tasks),
        "success": episode.success,
        "gripper_changes": episode.gripper,
        "longest_same_picture": episode.still,
    }


def _dimension_dicts(survey: Survey) -> Iterator[dict[str, Any]]:
    shares = survey.checkpoint.shares if survey.checkpoint else {}
    for part, columns in survey.tally.columns.items():
        marks, names = survey.tally.quantiles(part), survey.tally.names[part]
        for dim, column in enumerate(columns):
            values = dict(zip(("min", "q01", "median", "q99", "max"), marks[:, dim].tolist()))
            name = names[dim] if names else None
            row = {"column": column, "name": name, "part": part} | values
            if part == "state" and name in shares:
                row["outside_checkpoint"] = shares[name]
            yield row


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
