"""What is seen, for the Rerun viewer: live, as a recording, or both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from rlt_ros.monitor.scene import Scene, Trace
from rlt_ros.types import Driver

try:
    import rerun
    from rerun import blueprint
except ImportError as error:
    raise ImportError("rerun is missing: pip install 'rlt_ros[viewer]'") from error

TIMELINE = "robot_time"
COLOURS = {"reference": (38, 140, 242), "actor": (242, 140, 26)}
DRIVERS = {Driver.VLA: (38, 90, 190), Driver.ACTOR: (204, 90, 0), Driver.HUMAN: (26, 166, 64)}
OTHER = (128, 128, 128)
PLOTS = {
    "success": ("learner_stats/recent_success", "learner_stats/intervention_rate"),
    "Q": ("learner_stats/q_mean", "learner_stats/target_mean", "learner_stats/q_pi"),
    "reference": ("learner_stats/reference_error", "learner_stats/reference_error_dropped"),
    "force": ("force/x", "force/y", "force/z"),
}
"""Plots of the live view and their curves below `curves/`."""
JPEG = 80
METRES_PER_NEWTON = 0.004


class RerunLog:
    """A recording. file: where it is written, None to write none. live: start the viewer, which needs a display.

    cameras: names of their pictures. Times are in seconds of robot time since the recording began. Raises ValueError
    where it would go nowhere, OSError where the file cannot be written.
    """

    def __init__(self, cameras: Iterable[str], file: Path | None, live: bool) -> None:
        if file is None and not live:
            raise ValueError("neither a file to write nor a display to show a viewer on")
        self._stream = rerun.RecordingStream("rlt_ros")
        sinks = [rerun.FileSink(file)] if file is not None else []
        if live:
            rerun.spawn(connect=False)
            sinks.append(rerun.GrpcSink())
        self._stream.set_sinks(*sinks, default_blueprint=_layout(tuple(cameras)))
        self._shown: set[str] = set()
        self._box = False

    def at(self, seconds: float) -> None:
        """What follows is of this moment."""
        self._stream.set_time(TIMELINE, duration=seconds)

    def scene(self, scene: Scene) -> None:
        """Chunks, path, force, text and the workspace."""
        if not self._box:
            lower, upper = scene.box
            box = rerun.Boxes3D(centers=[(lower + upper) / 2], half_sizes=[(upper - lower) / 2], colors=[OTHER])
            self._stream.log("world/workspace", box, static=True)
            self._box = True
        for name, trace in (("reference", scene.reference), ("actor", scene.actor)):
            self._line(f"world/{name}", trace, COLOURS[name])
        self._path(scene.executed)
        self._force(scene)
        if scene.text:
            self._stream.log("status", rerun.TextDocument(scene.text))

    def arm(self, points: np.ndarray) -> None:
        """Positions (n, 3) of the arm's frames."""
        self._stream.log("world/arm", rerun.LineStrips3D([points], colors=[OTHER], radii=[0.01]))
        self._stream.log("world/arm/joints", rerun.Points3D(points, colors=[OTHER], radii=[0.018]))

    def picture(self, camera: str, rgb: np.ndarray) -> None:
        """Picture uint8 (h, w, 3) of a camera."""
        self._stream.log(f"cameras/{camera}", rerun.Image(rgb).compress(jpeg_quality=JPEG))

    def curves(self, group: str, values: Mapping[str, float]) -> None:
        """Numbers by name; what is not finite is left out."""
        for name, value in values.items():
            if np.isfinite(value):
                self._stream.log(f"curves/{group}/{name}", rerun.Scalars(float(value)))

    def close(self) -> None:
        """Everything is written."""
        self._stream.flush()
        self._stream.disconnect()

    def _line(self, entity: str, trace: Trace | None, colour: tuple[int, ...]) -> None:
        if trace is None:
            self._clear(entity)
            return
        self._shown.add(entity)
        self._stream.log(entity, rerun.LineStrips3D([trace.positions], colors=[colour], radii=[0.0015]))

    def _path(self, trace: Trace | None) -> None:
        if trace is None:
            self._clear("world/executed")
            return
        self._shown.add("world/executed")
        colours = [DRIVERS.get(driver, OTHER) for driver in trace.drivers or ()]
        self._stream.log("world/executed", rerun.Points3D(trace.positions, colors=colours, radii=[0.001]))

    def _force(self, scene: Scene) -> None:
        if scene.tool is None or scene.force is None:
            self._clear("world/force")
            return
        self._shown.add("world/force")
        vectors = [METRES_PER_NEWTON * scene.force]
        self._stream.log("world/force", rerun.Arrows3D(origins=[scene.tool.position], vectors=vectors))
        self.curves("force", dict(zip("xyz", scene.force.tolist())))

    def _clear(self, entity: str) -> None:
        if entity in self._shown:
            self._shown.discard(entity)
            self._stream.log(entity, rerun.Clear(recursive=False))


def _layout(cameras: tuple[str, ...]) -> blueprint.Blueprint:
    pictures = [blueprint.Spatial2DView(origin=f"cameras/{name}", name=name) for name in cameras]
    plots = [
        blueprint.TimeSeriesView(name=name, contents=[f"curves/{curve}" for curve in curves])
        for name, curves in PLOTS.items()
    ]
    seen = blueprint.Vertical(
        blueprint.Spatial3DView(origin="world", name="robot"),
        blueprint.Horizontal(*pictures, blueprint.TextDocumentView(origin="status", name="status")),
        row_shares=[3, 2],
    )
    return blueprint.Blueprint(blueprint.Horizontal(seen, blueprint.Vertical(*plots), column_shares=[3, 2]))
