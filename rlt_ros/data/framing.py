"""One control step as a row of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlt_ros.robot.config import RobotConfig
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES, ExecutedStep, Observation


def features_for(robot: RobotConfig, shapes: Mapping[str, tuple[int, ...]], storage: str) -> dict[str, Any]:
    """Features."""
    f = {
        "observation.state": {"dtype": "float32", "shape": [19], "names": list(PROPRIO_NAMES)},
        "action": {"dtype": "float32", "shape": [7], "names": list(ACTION_NAMES)},
    }
    for n, s in shapes.items():
        f[f"observation.images.{n}"] = {"dtype": storage, "shape": list(s), "names": ["height", "width", "channels"]}
    f["driver"] = {"dtype": "int64", "shape": [1], "names": None}
    f["stamp"] = {"dtype": "int64", "shape": [1], "names": None}
    f["next.success"] = {"dtype": "bool", "shape": [1], "names": None}
    return f


def frame_of(o: Observation, s: ExecutedStep) -> dict[str, Any]:
    """Frame."""
    return {
        "observation.state": o.proprio,
        "action": s.sent,
        "driver": np.array([int(s.driver)]),
        "stamp": np.array([o.stamp]),
        "next.success": np.array([False]),
        **{f"observation.images.{n}": i for n, i in o.images.items()},
    }


def last_of(success: bool) -> dict[str, Any]:
    """Last."""
    return {"next.success": np.array([success])}
