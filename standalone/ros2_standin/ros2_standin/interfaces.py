"""Message and service classes by the names of their types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

from .graph import PATIENCE, topics, wait_for


def interface(name: str, kind: str) -> Any:
    """The class of `package/msg/Name` or `package/Name`; kind: msg or srv. Raises RuntimeError where there is none."""
    parts = name.split("/")
    package, middle, last = parts if len(parts) == 3 else (parts[0], kind, parts[-1])
    try:
        return getattr(import_module(f"{package}.{middle}"), last)
    except (ImportError, AttributeError, ValueError) as error:
        raise RuntimeError(f"The passed {'message' if kind == 'msg' else 'service'} type is invalid: {name}") from error


def class_of(node: Node, topic: str) -> Any:
    """Class of the messages of a topic, None where nobody knows the topic for some seconds. Raises RuntimeError with
    several types."""
    full = expand_topic_name(topic, node.get_name(), node.get_namespace())
    if not wait_for(node, lambda: full in topics(node, include_hidden=True), PATIENCE):
        return None
    types = topics(node, include_hidden=True)[full]
    if len(types) > 1:
        raise RuntimeError(f"Cannot echo topic '{topic}', as it contains more than one type: [{', '.join(types)}]")
    return interface(types[0], "msg")


def publishers_of(node: Node, topic: str) -> list[TopicEndpointInfo]:
    """Who publishes a topic, none where nobody does for some seconds: without their QoS nothing of a latched topic
    would come."""
    wait_for(node, lambda: node.count_publishers(topic) > 0, PATIENCE)
    return node.get_publishers_info_by_topic(topic)
