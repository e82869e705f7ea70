"""A stand-in for ROS 2 `launch_ros` on machines without a ROS distribution; see ../README.md."""

from launch._support import install_module_guard, missing_attribute

install_module_guard()

from . import actions, descriptions, event_handlers, events, substitutions  # noqa: E402  guard first

__getattr__ = missing_attribute(__name__)
__all__ = ["actions", "descriptions", "event_handlers", "events", "substitutions"]
