"""Pictures that must not be taken for new ones: the one before once more, or black (field report A06)."""

from __future__ import annotations

import zlib

import numpy as np

SAMPLES = 65_536
"""Bytes of a picture that are looked at."""
BLACK = 4.0
"""Mean level, of 255, below which a picture shows nothing: the lens is covered or the exposure has failed."""
_LIT = ("rgb8", "bgr8", "mono8")


class UselessPicture(ValueError):
    """A picture that shows nothing new, or nothing."""


class PictureWatch:
    """Looks at the pictures of one camera as they come. A sensor's noise makes each differ from the one before."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        self._same = 0

    def look(self, data: bytes | memoryview, encoding: str) -> None:
        """Raises UselessPicture on one that must be left out; then the camera goes stale, as if it were silent."""
        pixels = np.frombuffer(data, dtype=np.uint8)
        pixels = pixels[:: max(1, pixels.size // SAMPLES)]
        seen = (pixels.size, zlib.crc32(pixels.tobytes()))
        self._same = self._same + 1 if seen == self._seen else 0
        self._seen = seen
        if self._same:
            raise UselessPicture(f"the same picture {self._same + 1} times; the driver or the camera has frozen")
        if encoding in _LIT and pixels.size and pixels.mean() < BLACK:
            raise UselessPicture(f"the picture is black: mean level {pixels.mean():.1f} of 255")
