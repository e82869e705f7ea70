"""Actions of launch files for ROS nodes."""

from launch._support import missing_attribute

from .lifecycle_node import LifecycleNode
from .node import Node
from .scoped import (
    PushROSNamespace,
    PushRosNamespace,
    SetParameter,
    SetParametersFromFile,
    SetRemap,
    SetUseSimTime,
)

__getattr__ = missing_attribute(__name__)
__all__ = [
    "LifecycleNode",
    "Node",
    "PushROSNamespace",
    "PushRosNamespace",
    "SetParameter",
    "SetParametersFromFile",
    "SetRemap",
    "SetUseSimTime",
]
