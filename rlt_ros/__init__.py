"""RL Token (RLT) on a Franka arm under ROS 2: a frozen VLA, its compact token, and a small agent that learns online."""

from pkgutil import extend_path

# The generated rlt_ros.msg and rlt_ros.srv live in the install tree; a checkout on sys.path would hide them.
__path__ = extend_path(__path__, __name__)

__version__ = "0.1.0"
