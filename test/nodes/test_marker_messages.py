"""Markers as RViz takes them: frames, lifetimes, colours, sizes."""

from __future__ import annotations

import numpy as np
import pytest
from loop_parts import CENTRE, ROBOT, chunk, executed

pytest.importorskip("visualization_msgs")

from visualization_msgs.msg import Marker, MarkerArray

from rlt_ros.monitor.scene import SceneKeeper
from rlt_ros.nodes.marker_messages import DRIVERS, METRES_PER_NEWTON, NAMESPACES, markers
from rlt_ros.robot.pose import Pose
from rlt_ros.types import Driver

POSE = Pose.of(CENTRE, ROBOT.reference.quaternion)


def everything() -> MarkerArray:
    keeper = SceneKeeper(ROBOT)
    keeper.measured(POSE, np.array([0.0, 3.0, -10.0]), 0.0)
    for i, driver in enumerate((Driver.VLA, Driver.HUMAN), 1):
        keeper.executed(executed(i, driver), 0.0)
    keeper.referred(3, np.zeros((12, 7), np.float32), 0.0)
    keeper.chosen(chunk(3, 0.1, Driver.ACTOR), 0.0)
    keeper.said("practice", 0.0)
    return markers(keeper.scene(0.0), ROBOT.base_frame)


def by_name() -> dict[str, Marker]:
    return {marker.ns: marker for marker in everything().markers}


def test_everything_has_a_namespace_a_frame_a_lifetime_and_a_colour() -> None:
    found = everything().markers
    assert [marker.ns for marker in found] == [name for name in NAMESPACES if name in {m.ns for m in found}]
    assert {marker.ns for marker in found} == set(NAMESPACES)
    assert len({(m.ns, m.id) for m in found}) == len(found)
    for marker in found:
        assert marker.header.frame_id == "fr3_link0" and marker.header.stamp.sec == marker.header.stamp.nanosec == 0
        assert marker.lifetime.sec >= 1 and marker.action == Marker.ADD and marker.color.a > 0
        assert marker.pose.orientation.w == 1.0 and max(marker.scale.x, marker.scale.z) > 0
        points = [(p.x, p.y, p.z) for p in marker.points]
        assert np.isfinite(points).all() if points else marker.type == Marker.TEXT_VIEW_FACING


def test_lines_have_a_point_for_each_step_and_the_path_a_colour_for_each_driver() -> None:
    found = by_name()
    assert len(found["reference"].points) == 13 and len(found["actor"].points) == 11
    path = found["executed"]
    assert len(path.points) == len(path.colors) == 2
    assert [round(c.g, 3) for c in path.colors] == [DRIVERS[Driver.VLA][1], DRIVERS[Driver.HUMAN][1]]


def test_the_box_has_twelve_edges_between_its_corners() -> None:
    points = np.array([(p.x, p.y, p.z) for p in by_name()["workspace"].points])
    assert points.shape == (24, 3)
    np.testing.assert_array_equal(points.min(axis=0), ROBOT.limits.workspace.lower)
    np.testing.assert_array_equal(points.max(axis=0), ROBOT.limits.workspace.upper)
    sizes = np.abs(points[0::2] - points[1::2])
    assert ((sizes > 0).sum(axis=1) == 1).all() and len(np.unique(points.round(6), axis=0)) == 8
    edges = {tuple(sorted(map(tuple, pair.round(6).tolist()))) for pair in points.reshape(12, 2, 3)}
    assert len(edges) == 12


def test_the_arrow_points_with_the_force() -> None:
    start, tip = by_name()["wrench"].points
    np.testing.assert_allclose([start.x, start.y, start.z], CENTRE)
    np.testing.assert_allclose([tip.y - start.y, tip.z - start.z], [3 * METRES_PER_NEWTON, -10 * METRES_PER_NEWTON])


def test_no_force_is_no_arrow_and_nothing_told_is_the_box_alone() -> None:
    keeper = SceneKeeper(ROBOT)
    assert [m.ns for m in markers(keeper.scene(0.0), "base").markers] == ["workspace"]
    keeper.measured(POSE, np.zeros(3), 0.0)
    assert [m.ns for m in markers(keeper.scene(0.0), "base").markers] == ["workspace"]
