"""The shipped views as a test reads them: which topics they show, as what, with which quality of service."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

FOLDER = Path(__file__).parents[2] / "config" / "monitor"
TYPES = {
    "RobotModel": "std_msgs/msg/String",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "Wrench": "geometry_msgs/msg/WrenchStamped",
    "Image": "sensor_msgs/msg/Image",
}
"""Display of RViz and the message type that it subscribes to (rviz_default_plugins, commit f7112b1a)."""


@dataclass(frozen=True)
class Shown:
    """A topic that a view subscribes to. kind: message type. reliable, latched: what it asks for."""

    where: str
    topic: str
    kind: str
    reliable: bool
    latched: bool


def rviz() -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "rlt.rviz").read_text())


def displays() -> list[dict[str, Any]]:
    return rviz()["Visualization Manager"]["Displays"]


def rviz_topics() -> list[Shown]:
    found = []
    for display in displays():
        name = display["Class"].split("/")[1]
        asked = display.get("Description Topic") or display.get("Topic")
        if asked:
            reliable, latched = asked["Reliability Policy"] == "Reliable", asked["Durability Policy"] != "Volatile"
            found.append(Shown(f"rviz {display['Name']}", asked["Value"], TYPES[name], reliable, latched))
    return found


def perspective() -> dict[str, Any]:
    """The perspective with its values as rqt restores them."""
    return _restored(json.loads((FOLDER / "rlt.perspective").read_text()))


def _restored(group: dict[str, Any]) -> dict[str, Any]:
    assert set(group) == {"keys", "groups"}
    keys = {}
    for key, value in group["keys"].items():
        assert set(value) == {"repr", "type"} and value["type"] == "repr"
        keys[key] = ast.literal_eval(value["repr"])
    return {"keys": keys, "groups": {name: _restored(part) for name, part in group["groups"].items()}}


def plugins() -> dict[str, list[dict[str, Any]]]:
    """Plugin -> settings of each of its running instances."""
    manager = perspective()["groups"]["pluginmanager"]
    found: dict[str, list[dict[str, Any]]] = {}
    for plugin, numbers in manager["keys"]["running-plugins"].items():
        groups = (manager["groups"][f"plugin__{plugin.replace('/', '__')}__{number}"] for number in numbers)
        found[plugin] = [group["groups"]["plugin"]["keys"] for group in groups]
    return found


def rqt_topics() -> list[Shown]:
    images = plugins()["rqt_image_view/ImageView"]
    # rqt_image_view subscribes with the sensor-data profile.
    return [Shown("rqt image", image["topic"], "sensor_msgs/msg/Image", False, False) for image in images]


def plotjuggler() -> ElementTree.Element:
    return ElementTree.parse(FOLDER / "plotjuggler.xml").getroot()


def plotted() -> list[str]:
    """Topic and field of every curve, of rqt_plot and PlotJuggler."""
    curves = [curve.attrib["name"] for curve in plotjuggler().iter("curve")]
    return [topic for plot in plugins()["rqt_plot/Plot"] for topic in plot["topics"]] + curves


def streamed() -> list[str]:
    """Topics that PlotJuggler subscribes to."""
    return plotjuggler().find(".//selected_topics").attrib["value"].split(";")


def aggregator() -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "diagnostics.yaml").read_text())["analyzers"]["ros__parameters"]
