"""Pictures of one camera and one episode into a video file, one by one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.extras import av
from rlt_ros.data.lerobot.priority import kept_priority

OPTIONS = {
    # A key frame every second picture, as in LeRobot, and no B-frames: training reads single pictures.
    "h264": {"g": "2", "crf": "18", "preset": "veryfast", "bf": "0"},
    # LeRobot's own default.
    "libsvtav1": {"g": "2", "crf": "30", "preset": "12"},
}
"""Codecs of FFmpeg that can be chosen, and their options."""


class VideoEncoder:
    """Writes an MP4 file; picture k is shown at k / fps seconds exactly."""

    def __init__(self, path: Path, fps: int, height: int, width: int, codec: str) -> None:
        self._container = av.open(str(path), "w")
        self._stream = self._container.add_stream(codec, rate=fps, options=OPTIONS[codec])
        self._stream.height, self._stream.width = height, width
        self._stream.pix_fmt = "yuv420p"
        with kept_priority():
            self._stream.codec_context.open()
        self._time_base = Fraction(1, fps)
        self._pictures = 0

    def add(self, rgb: np.ndarray) -> None:
        """Append one picture, uint8 (h, w, 3)."""
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
        frame.pts, frame.time_base = self._pictures, self._time_base
        self._pictures += 1
        self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Write what the codec still holds and the end of the file."""
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def abandon(self) -> None:
        """Let go of the file, which will be no video."""
        try:
            self._container.close()
        except (OSError, ValueError):
            pass


def check_codec(codec: str) -> None:
    """Raise DatasetError unless the codec can be chosen and this FFmpeg has it."""
    if codec not in OPTIONS:
        raise DatasetError(f"codec {codec!r}; expected one of {', '.join(OPTIONS)}")
    try:
        av.Codec(codec, "w")
    except ValueError as error:
        raise DatasetError(f"codec {codec!r}: not in this FFmpeg: {error}") from error


def video_info(fps: int, height: int, width: int, codec: str) -> dict[str, Any]:
    """What LeRobot keeps in a video feature's `info`."""
    return {
        "video.height": height,
        "video.width": width,
        "video.codec": "av1" if codec == "libsvtav1" else codec,
        "video.pix_fmt": "yuv420p",
        "video.fps": fps,
        "video.channels": 3,
        "is_depth_map": False,
        "has_audio": False,
    }
