"""What a test records of a running graph: a bag of real messages, and a person who presses buttons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bags import STORE
from graph import Graph, Listener
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer

from rlt_ros import msg, srv
from rlt_ros.nodes.convert import stamp_of

OWN_TOPICS = {
    "/rlt/observation": (msg.Observation, None),
    "/rlt/executed_step": (msg.ExecutedStep, None),
    "/rlt/episode_event": (msg.EpisodeEvent, None),
}


def write_bag(received: Mapping[str, list[Any]], path: Path) -> Path:
    """A bag of what a listener has received; receipt is the order in which it came, by the stamps."""
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, messages in received.items():
            kind, _ = OWN_TOPICS[topic]
            connection = writer.add_connection(topic, f"rlt_ros/msg/{kind.__name__}", typestore=STORE)
            for message in messages:
                writer.write(connection, stamp_of(message.header), serialize_message(message))
    return path


class Person:
    """Somebody with teleop's services at hand."""

    def __init__(self, graph: Graph, listener: Listener) -> None:
        self._graph, self._listener = graph, listener
        node = listener.node
        self._label = node.create_client(srv.LabelEpisode, "/rlt/label_episode")
        self._mode = node.create_client(srv.SetPolicyMode, "/rlt/set_policy_mode")

    def label(self, what: int) -> Any:
        """Press one of the labels; returns the answer."""
        return self._ask(self._label, srv.LabelEpisode.Request(label=what))

    def mode(self, what: int) -> Any:
        """Ask for a mode; returns the answer."""
        return self._ask(self._mode, srv.SetPolicyMode.Request(mode=what))

    def _ask(self, client: Any, request: Any) -> Any:
        self._graph.wait_for(lambda: self._listener.spin() and client.service_is_ready(), 60, client.srv_name)
        future = client.call_async(request)
        self._graph.wait_for(lambda: self._listener.spin() and future.done(), 30, f"an answer of {client.srv_name}")
        return future.result()
