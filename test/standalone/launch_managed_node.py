"""A managed node that does nothing."""

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn


class Managed(LifecycleNode):
    """Agrees to every transition."""

    def on_configure(self, state):
        """Agree."""
        return TransitionCallbackReturn.SUCCESS


rclpy.init()
try:
    rclpy.spin(Managed("unnamed"))
except (KeyboardInterrupt, ExternalShutdownException):
    pass
