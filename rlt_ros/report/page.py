"""The page: one HTML file with everything in it."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import rlt_ros
from rlt_ros.data.check.plots import Figure
from rlt_ros.files import write_whole
from rlt_ros.loop.report import TITLES
from rlt_ros.report import facts
from rlt_ros.report.episodes import Episode
from rlt_ros.report.panels import PANELS, Panel, colour_of, figure
from rlt_ros.report.run import Run

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
except ImportError as error:
    raise ImportError("jinja2 is missing: pip install 'rlt_ros[report]'") from error

TEMPLATE = "page.html"
DOTS = 130
"""Dots per inch of the PNG files."""
STRIPS = 3
"""Episodes at either end of a stage whose pictures are shown."""


@dataclass(frozen=True)
class Plot:
    """A panel as it stands on the page. absent: names of the runs that have nothing for it."""

    panel: Panel
    svg: str
    absent: list[str]


@dataclass(frozen=True)
class Strip:
    """Pictures of one episode. png: a data URI."""

    episode: Episode
    png: str
    cameras: str


@dataclass(frozen=True)
class Part:
    """What the page says of one run."""

    run: Run
    colour: str
    tiles: list[tuple[str, str, str]]
    scores: Mapping[str, facts.Score]
    ending: str
    ended_well: bool
    latencies: list[tuple[str, ...]]
    made_with: Mapping[str, str]
    strips: Mapping[str, list[Strip]] = field(default_factory=dict)


def write_report(runs: Sequence[Run], out: Path) -> Path:
    """Write `report.html` and a PNG for each plot into a directory; returns the page's path. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    plots, missing = [], []
    for panel in PANELS:
        drawn, absent = figure(panel, runs)
        if drawn is None:
            missing.append(panel.title)
            continue
        drawn.savefig(out / f"{panel.name}.png", dpi=DOTS)
        plots.append(Plot(panel, _svg(drawn), absent))
    page = out / "report.html"
    write_whole(page, _html(runs, plots, missing).encode())
    return page


def _html(runs: Sequence[Run], plots: Sequence[Plot], missing: Sequence[str]) -> str:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    parts = [_part(run, colour_of(place)) for place, run in enumerate(runs)]
    titles = list(dict.fromkeys(title for part in parts for title in part.scores))
    return environment.get_template(TEMPLATE).render(
        parts=parts,
        titles=titles,
        stage_titles=TITLES,
        plots=plots,
        missing=missing,
        differences=differences(runs) if len(runs) > 1 else {},
        version=rlt_ros.__version__,
    )


def _part(run: Run, colour: str) -> Part:
    ending, well = facts.ending(run)
    scores, latencies = facts.scores(run), list(facts.latency_rows(run))
    return Part(
        run, colour, list(facts.tiles(run)), scores, ending, well, latencies, facts.made_with(run), _strips(run)
    )


def differences(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Settings that are not the same in all runs: name -> its value in each."""
    flat = [_flat(run) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    columns = {name: [str(settings.get(name, facts.UNKNOWN)) for settings in flat] for name in names}
    return {name: values for name, values in columns.items() if len(set(values)) > 1}


def _flat(run: Run) -> dict[str, object]:
    return {f"{part}.{name}": value for part, values in run.settings.items() for name, value in values.items()}


def _strips(run: Run) -> dict[str, list[Strip]]:
    found: dict[str, list[Strip]] = {}
    for stage in dict.fromkeys(episode.stage for episode in run.episodes):
        there = [s for episode in run.episodes if episode.stage == stage for s in _strip(run, episode)]
        chosen = there if len(there) <= 2 * STRIPS else [*there[:STRIPS], *there[-STRIPS:]]
        if chosen:
            found[stage] = chosen
    return found


def _strip(run: Run, episode: Episode) -> Iterator[Strip]:
    file, cameras = episode.pictures.get("file"), episode.pictures.get("cameras", [])
    path = run.path / str(file)
    if isinstance(file, str) and path.is_file() and path.resolve().is_relative_to(run.path.resolve()):
        yield Strip(episode, _data_uri("image/png", path.read_bytes()), ", ".join(map(str, cameras)))


def _svg(drawn: Figure) -> str:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None})
    return _data_uri("image/svg+xml", buffer.getvalue())


def _data_uri(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
