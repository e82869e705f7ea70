"""Class and key names of the shipped views are those of the real programs.

Read from their sources at: rviz f7112b1a (2024-10-15), qt_gui_core 90b5ddd, rqt_plot d6f778c (rolling), rqt_image_view
rolling-devel da64a24, rqt_robot_monitor e919742, rqt_reconfigure 988179e, PlotJuggler ddcbd05b,
plotjuggler-ros-plugins 66e9101, diagnostics 431926f.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import views
import yaml

from rlt_ros.monitor.names import renamed
from rlt_ros.robot.config import load_robot

OF_ANY_DISPLAY = {"Class", "Name", "Enabled", "Value"}
DISPLAY_KEYS = {
    "Grid": {"Alpha", "Cell Size", "Color", "Line Style", "Normal Cell Count", "Offset", "Plane", "Plane Cell Count",
             "Reference Frame"},
    "RobotModel": {"Alpha", "Collision Enabled", "Description File", "Description Source", "Description Topic",
                   "Mass Properties", "TF Prefix", "Update Interval", "Visual Enabled"},
    "TF": {"Filter (blacklist)", "Filter (whitelist)", "Frame Timeout", "Marker Scale", "Show Arrows", "Show Axes",
           "Show Names", "Update Interval"},
    "MarkerArray": {"Namespaces", "Topic"},
    "Wrench": {"Accept NaN Values", "Alpha", "Arrow Width", "Force Arrow Scale", "Force Color", "History Length",
               "Topic", "Torque Arrow Scale", "Torque Color"},
    "Image": {"Max Value", "Median window", "Min Value", "Normalize Range", "Topic"},
}  # fmt: skip
QOS_KEYS = {"Depth", "Durability Policy", "History Policy", "Reliability Policy", "Value"}
PANELS = {"Displays", "Help", "Selection", "Time", "Tool Properties", "Transformation", "Views"}
TOOLS = {"Interact", "MoveCamera", "Select", "FocusCamera", "Measure", "PublishPoint", "SetGoal", "SetInitialPose"}
RQT_KEYS = {
    "rqt_plot/Plot": {"autoscroll", "plot_type", "topics", "x_limits", "y_limits"},
    "rqt_image_view/ImageView": {
        "topic", "zoom1", "dynamic_range", "max_range", "publish_click_location", "mouse_pub_topic", "toolbar_hidden",
        "num_gridlines", "smooth_image", "rotate", "color_scheme",
    },
    "rqt_robot_monitor/RobotMonitor": {"splitter"},
    "rqt_reconfigure/Param": {"splitter", "text", "expanded_nodes", "selected_nodes"},
}  # fmt: skip
ANALYZER_KEYS = {
    "type", "path", "find_and_remove_prefix", "remove_prefix", "startswith", "contains", "expected", "regex", "timeout",
    "num_items", "discard_stale", "name",
}  # fmt: skip
STREAMER = {
    "use_header_stamp", "discard_large_arrays", "max_array_size", "boolean_strings_to_number",
    "remove_suffix_from_strings", "selected_topics",
}  # fmt: skip


@pytest.mark.parametrize("display", views.displays(), ids=lambda d: d["Name"])
def test_displays_are_of_classes_and_properties_that_rviz_has(display: dict) -> None:
    package, name = display["Class"].split("/")
    assert package == "rviz_default_plugins" and set(display) <= OF_ANY_DISPLAY | DISPLAY_KEYS[name]
    for key in ("Topic", "Description Topic"):
        if key in display:
            filtered = {"Filter size"} if name == "Wrench" else set()
            assert set(display[key]) == QOS_KEYS | filtered
            assert display[key]["History Policy"] in ("Keep Last", "Keep All", "System Default")
            assert display[key]["Reliability Policy"] in ("Reliable", "Best Effort")
            assert display[key]["Durability Policy"] in ("Volatile", "Transient Local")


def test_everything_wanted_is_on_display() -> None:
    classes = [display["Class"].split("/")[1] for display in views.displays()]
    assert classes.count("Image") == len(load_robot().cameras) == 2
    assert {"RobotModel", "MarkerArray", "TF", "Wrench"} <= set(classes)


def test_panels_tools_and_view_are_rvizs_own() -> None:
    content = views.rviz()
    manager = content["Visualization Manager"]
    assert {panel["Class"] for panel in content["Panels"]} <= {f"rviz_common/{name}" for name in PANELS}
    assert {tool["Class"] for tool in manager["Tools"]} <= {f"rviz_default_plugins/{name}" for name in TOOLS}
    assert manager["Views"]["Current"]["Class"] == "rviz_default_plugins/Orbit"
    assert manager["Transformation"]["Current"]["Class"] == "rviz_default_plugins/TF"
    assert manager["Global Options"]["Fixed Frame"] == load_robot().base_frame
    assert set(content) == {"Panels", "Visualization Manager", "Window Geometry"}


def test_plugins_of_the_perspective_take_its_settings() -> None:
    running = views.plugins()
    assert set(running) == set(RQT_KEYS)
    for plugin, instances in running.items():
        assert all(set(keys) <= RQT_KEYS[plugin] for keys in instances), plugin
    groups = views.perspective()["groups"]["pluginmanager"]["groups"]
    assert len(groups) == sum(map(len, running.values()))
    for plot in running["rqt_plot/Plot"]:
        assert all(re.fullmatch(r"(/\w+)+", topic) for topic in plot["topics"])
        assert len(plot["x_limits"]) == len(plot["y_limits"]) == 2 and plot["y_limits"][0] < plot["y_limits"][1]


def test_layout_is_built_as_plotjuggler_saves_it() -> None:
    root = views.plotjuggler()
    assert root.tag == "root"
    assert {child.tag for child in root} == {
        "tabbed_widget", "use_relative_time_offset", "streaming_buffer_size", "Plugins", "previouslyLoaded_Streamer",
    }  # fmt: skip
    tabs = root.findall("tabbed_widget/Tab")
    assert len(tabs) >= 3 and root.find("tabbed_widget/currentTabIndex") is not None
    for tab in tabs:
        (splitter,) = tab.findall("Container/DockSplitter")
        areas = splitter.findall("DockArea")
        sizes = [float(size) for size in splitter.attrib["sizes"].split(";")]
        assert int(splitter.attrib["count"]) == len(areas) == len(sizes) and sum(sizes) == pytest.approx(1.0)
        assert splitter.attrib["orientation"] in ("|", "-")
        for area in areas:
            (plot,) = area.findall("plot")
            assert {child.tag for child in plot} == {"range", "limitY", "curve"} and plot.attrib["mode"] == "TimeSeries"
    (plugin,) = root.findall("Plugins/plugin")
    name = root.find("previouslyLoaded_Streamer").attrib["name"]
    assert plugin.attrib["ID"] == name == "ROS2 Topic Subscriber"
    assert {child.tag for child in plugin} == STREAMER


def test_curves_come_from_topics_that_plotjuggler_takes() -> None:
    curves = [curve.attrib["name"] for curve in views.plotjuggler().iter("curve")]
    assert {next(t for t in views.streamed() if c.startswith(f"{t}/")) for c in curves} == set(views.streamed())


def test_analyzers_are_generic_ones_and_every_node_has_one() -> None:
    parameters = views.aggregator()
    analyzers = {name: value for name, value in parameters.items() if isinstance(value, dict)}
    assert set(parameters) - set(analyzers) == {"pub_rate", "path"}
    for analyzer in analyzers.values():
        assert analyzer["type"] == "diagnostic_aggregator/GenericAnalyzer" and set(analyzer) <= ANALYZER_KEYS
    wanted = {"observation", "features", "actor", "executor", "teleop", "learner", "sim", "collector", "referee"}
    names = [text for analyzer in analyzers.values() for text in analyzer["contains"]]
    assert sorted(names) == sorted([*(f"{node}: " for node in wanted), "rlt: collector"]), "each in one group"


def test_another_robot_gets_its_own_names() -> None:
    robot = replace(
        load_robot(), base_frame="left_fr3_link0", cameras={"top": "top/image", "hand": "hand/color/image_raw"}
    )
    text = (views.FOLDER / "rlt.rviz").read_text()
    changed = renamed(text, robot, "left/rlt", "left")
    topics = {
        (display.get("Description Topic") or display.get("Topic"))["Value"]
        for display in yaml.safe_load(changed)["Visualization Manager"]["Displays"]
        if "Topic" in display or "Description Topic" in display
    }
    assert topics == {
        "/left/robot_description", "/left/rlt/markers", "/left/top/image", "/left/hand/color/image_raw",
        "/left/franka_robot_state_broadcaster/external_wrench_in_base_frame",
    }  # fmt: skip
    assert "Fixed Frame: left_fr3_link0" in changed
    assert renamed(text, load_robot(), "rlt", "") == text
    assert "/markers" in renamed(text, load_robot(), "", "") and "/rlt/" not in renamed(text, load_robot(), "", "")
