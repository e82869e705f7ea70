"""Pictures on the wire: as they are, or compressed as PNG (exact) or JPEG (not exact)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlt_ros.vla.remote.config import ENCODINGS
from rlt_ros.vla.remote.wire import ProtocolError, array, field


def encode(pictures: np.ndarray, encoding: str) -> dict[str, Any]:
    """Pictures uint8 RGB (N, h, w, 3) for a message."""
    if encoding == "raw":
        return {"encoding": encoding, "pixels": pictures}
    return {"encoding": encoding, "files": [_compress(picture, encoding) for picture in pictures]}


def decode(message: Mapping[str, Any], name: str, count: int, size: tuple[int, int]) -> np.ndarray:
    """Pictures uint8 RGB (count, *size, 3) of a camera. Raises ProtocolError naming it."""
    try:
        return _decode(field(message, name, dict), count, size)
    except ProtocolError as error:
        raise ProtocolError(f"images[{name}]: {error}") from error


def _decode(content: Mapping[str, Any], count: int, size: tuple[int, int]) -> np.ndarray:
    encoding = content.get("encoding")
    if encoding not in ENCODINGS:
        raise ProtocolError(f"encoding {encoding!r}; known are {', '.join(ENCODINGS)}")
    if encoding == "raw":
        return array(content, "pixels", "uint8", (count, *size, 3)).copy()  # torch wants to be able to write
    files = field(content, "files", list)
    if len(files) != count:
        raise ProtocolError(f"{len(files)} pictures; expected {count}")
    return np.stack([_decompress(data, size) for data in files])


def _compress(picture: np.ndarray, encoding: str) -> bytes:
    cv2 = _opencv()
    return cv2.imencode(f".{encoding}", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))[1].tobytes()


def _decompress(data: Any, size: tuple[int, int]) -> np.ndarray:
    cv2 = _opencv()
    picture = None
    if isinstance(data, bytes) and data:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise ProtocolError("not a picture")
    if picture.shape != (*size, 3):
        raise ProtocolError(f"picture {picture.shape}; expected {(*size, 3)}")
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)


def _opencv() -> Any:
    try:
        import cv2
    except ImportError as error:
        raise ImportError("OpenCV is missing: pip install 'rlt_ros[vision]', or send images raw") from error
    return cv2
