"""Values of a message by the names of its fields, and pictures of image messages, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlt_ros.data.bags.errors import BagError

try:
    import cv2
except ImportError as error:
    raise ImportError("cv2 is missing: pip install 'rlt_ros[bags,vision]'") from error

IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
_CHANNELS = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}
_TO_RGB = {"bgr8": cv2.COLOR_BGR2RGB, "rgba8": cv2.COLOR_RGBA2RGB, "bgra8": cv2.COLOR_BGRA2RGB}


def picture(message: Any, where: str) -> np.ndarray:
    """uint8 RGB (h, w, 3) of an Image or CompressedImage; `where` names it in errors."""
    if hasattr(message, "format"):
        return _decompressed(message, where)
    channels = _CHANNELS.get(message.encoding)
    if channels is None:
        raise BagError(f"{where}: encoding {message.encoding!r}; expected one of {', '.join(_CHANNELS)}")
    height, width, line = int(message.height), int(message.width), int(message.step)
    if line < width * channels or len(message.data) < height * line or height * width == 0:
        raise BagError(f"{where}: {width} x {height} of {line} bytes a line, but {len(message.data)} bytes in all")
    rows = np.asarray(message.data, np.uint8)[: height * line].reshape(height, line)
    pixels = np.ascontiguousarray(rows[:, : width * channels].reshape(height, width, channels))
    if channels == 1:
        return np.repeat(pixels, 3, axis=2)
    return pixels if message.encoding == "rgb8" else cv2.cvtColor(pixels, _TO_RGB[message.encoding])


def _decompressed(message: Any, where: str) -> np.ndarray:
    decoded = cv2.imdecode(np.asarray(message.data, np.uint8), cv2.IMREAD_COLOR)
    if decoded is None:
        raise BagError(f"{where}: {len(message.data)} bytes of format {message.format!r} are no picture")
    return cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB)


def numbers(message: Any, field: str, where: str) -> np.ndarray:
    """float64 (n,) of a field given by its path, `pose.position`: all numbers below it in the order of the definition.

    `position[fr3_joint1]` is the element of an array that goes by the names in the message's `name`, as JointState has.
    """
    path, _, name = field.partition("[")
    value = message
    for part in path.split("."):
        if not hasattr(value, part):
            known = ", ".join(_fields(value)) or "no fields"
            raise BagError(f"{where}: no field {part!r} of {field!r}; there are {known}")
        value = getattr(value, part)
    if name:
        value = _by_name(message, value, name.rstrip("]"), where)
    flat = _flat(value)
    if flat is None:
        raise BagError(f"{where}: {field!r} is no number and holds none")
    return flat


def _by_name(message: Any, values: Any, name: str, where: str) -> Any:
    names = list(getattr(message, "name", ()))
    if name not in names or names.index(name) >= len(values):
        raise BagError(f"{where}: no value of {name!r}; the message has {names}")
    return values[names.index(name)]


def _fields(value: Any) -> list[str]:
    return [name for name in getattr(value, "__dataclass_fields__", {}) if not name.startswith("__")]


def _flat(value: Any) -> np.ndarray | None:
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return np.array([value], dtype=np.float64)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return value.astype(np.float64).ravel()
    parts = [_flat(getattr(value, name)) for name in _fields(value) if name != "header"]
    if isinstance(value, (list, tuple)):
        parts = [_flat(item) for item in value]
    return np.concatenate(parts) if parts and all(part is not None for part in parts) else None
