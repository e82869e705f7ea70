"""A scene as visualization_msgs/MarkerArray."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from rlt_ros.monitor.scene import FRESH, Scene, Trace
from rlt_ros.nodes.convert import header
from rlt_ros.types import Driver

NAMESPACES = ("workspace", "reference", "actor", "executed", "wrench", "mode")
"""Of the markers; a viewer can show and hide each."""
REFERENCE, ACTOR = (0.15, 0.55, 0.95, 0.9), (0.95, 0.55, 0.1, 0.9)
WORKSPACE, FORCE, TEXT = (0.6, 0.6, 0.6, 0.6), (0.85, 0.15, 0.15, 0.9), (1.0, 1.0, 1.0, 1.0)
DRIVERS = {
    Driver.VLA: (0.15, 0.35, 0.75, 0.8), Driver.ACTOR: (0.8, 0.35, 0.0, 0.8), Driver.HUMAN: (0.1, 0.65, 0.25, 0.9),
    Driver.HOLD: (0.5, 0.5, 0.5, 0.7),
}  # fmt: skip
LINE, THIN, SHAFT = 0.0015, 0.0008, 0.004
"""Widths in m."""
METRES_PER_NEWTON = 0.004
LETTER = 0.018
"""Height of letters in m."""


def markers(scene: Scene, frame: str) -> MarkerArray:
    """All markers of a scene. frame: base frame of the robot.

    What is not there any more is not deleted: it fades by its lifetime, in the viewer of whoever joins late too. The
    stamp is zero, which means the newest transform: geometry of the base frame needs none of the past.
    """
    found = [_box(scene), *_traces(scene), *_wrench(scene), *_text(scene)]
    for marker in found:
        marker.header = header(0, frame)
    return MarkerArray(markers=found)


def _traces(scene: Scene) -> Iterator[Marker]:
    if scene.reference is not None:
        yield _line("reference", scene.reference, REFERENCE, LINE)
    if scene.actor is not None:
        yield _line("actor", scene.actor, ACTOR, LINE)
    if scene.executed is not None:
        marker = _line("executed", scene.executed, DRIVERS[Driver.HOLD], THIN)
        drivers = scene.executed.drivers or ()
        marker.colors = [_colour(DRIVERS.get(driver, DRIVERS[Driver.HOLD])) for driver in drivers]
        yield marker


def _line(namespace: str, trace: Trace, colour: tuple[float, ...], width: float) -> Marker:
    marker = _marker(namespace, Marker.LINE_STRIP, colour)
    marker.points = [_point(position) for position in trace.positions]
    marker.scale = Vector3(x=width, y=0.0, z=0.0)
    return marker


def _box(scene: Scene) -> Marker:
    marker = _marker("workspace", Marker.LINE_LIST, WORKSPACE)
    marker.points = [_point(corner) for corner in _edges(*scene.box)]
    marker.scale = Vector3(x=THIN, y=0.0, z=0.0)
    return marker


def _edges(lower: np.ndarray, upper: np.ndarray) -> Iterator[np.ndarray]:
    """Ends of the twelve edges of a box, two by two."""
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        for sides in ((0, 0), (0, 1), (1, 0), (1, 1)):
            for end in (0, 1):
                choice = {axis: end, **dict(zip(others, sides))}
                yield np.array([(lower, upper)[choice[i]][i] for i in range(3)])


def _wrench(scene: Scene) -> Iterator[Marker]:
    if scene.tool is None or scene.force is None or not np.linalg.norm(scene.force) > 0.1:
        return
    marker = _marker("wrench", Marker.ARROW, FORCE)
    tip = scene.tool.position + METRES_PER_NEWTON * scene.force
    marker.points = [_point(scene.tool.position), _point(tip)]
    marker.scale = Vector3(x=SHAFT, y=2 * SHAFT, z=0.0)
    yield marker


def _text(scene: Scene) -> Iterator[Marker]:
    if not scene.text:
        return
    lower, upper = scene.box
    marker = _marker("mode", Marker.TEXT_VIEW_FACING, TEXT)
    marker.text = scene.text
    marker.pose.position = _point(np.array([*(lower[:2] + upper[:2]) / 2, upper[2] + 3 * LETTER]))
    marker.scale = Vector3(x=0.0, y=0.0, z=LETTER)
    yield marker


def _marker(namespace: str, kind: int, colour: tuple[float, ...]) -> Marker:
    marker = Marker(ns=namespace, id=0, type=kind, action=Marker.ADD, color=_colour(colour))
    marker.pose.orientation.w = 1.0
    marker.lifetime = Duration(sec=int(FRESH), nanosec=0)
    return marker


def _colour(rgba: tuple[float, ...]) -> ColorRGBA:
    r, g, b, a = (float(v) for v in rgba)
    return ColorRGBA(r=r, g=g, b=b, a=a)


def _point(position: np.ndarray) -> Point:
    x, y, z = (float(v) for v in position)
    return Point(x=x, y=y, z=z)
