"""The packages that read bags; their absence is an error that names the pip extra."""

from __future__ import annotations

try:
    import rosbags.highlevel as highlevel
    import rosbags.typesys as typesys
    from rosbags.interfaces import Nodetype
except ImportError as error:
    raise ImportError(f"{error.name} is missing: pip install 'rlt_ros[bags,vision]'") from error

__all__ = ["Nodetype", "highlevel", "typesys"]
