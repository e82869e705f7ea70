"""The newest picture of each camera as JPEG, made only where somebody looks at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

WIDEST = 640
"""Pixels; wider pictures are averaged down."""
QUALITY = 80


@dataclass(frozen=True)
class Picture:
    """number: counts the pictures of a camera, 0 before the first. age: s since it came, None before. jpeg: empty
    where there is none, or none newer than asked for. problem: why it cannot be shown."""

    number: int = 0
    age: float | None = None
    jpeg: bytes = b""
    problem: str = ""


Taken = tuple[int, int, float, Callable[[], np.ndarray]]
"""Number, stamp, when it came, how to read it."""


@dataclass
class _Camera:
    newest: Taken | None = None
    made: Picture = Picture()
    making: threading.Lock = field(default_factory=threading.Lock)


class Pictures:
    """Taken in one thread, shown in any other; several who look at a picture share its JPEG."""

    def __init__(self, cameras: Iterable[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cameras = {name: _Camera() for name in cameras}

    @property
    def names(self) -> tuple[str, ...]:
        """Of the cameras."""
        return tuple(self._cameras)

    def take(self, name: str, stamp: int, read: Callable[[], np.ndarray]) -> None:
        """A picture has come. stamp in ns: one that came before is the same picture, from a driver that has stopped.

        read: gives it as uint8 RGB (h, w, 3), or raises ValueError; called in the thread of who looks at it.
        """
        camera = self._cameras[name]
        number, before = camera.newest[:2] if camera.newest else (0, None)
        if stamp != before:
            # Never waits for a picture that is being made.
            camera.newest = number + 1, stamp, self._clock(), read

    def newest(self, name: str, after: int = 0) -> Picture:
        """The newest picture; without its JPEG if its number is `after`. May take some milliseconds."""
        camera = self._cameras[name]
        if camera.newest is None:
            return Picture()
        number, _, at, read = camera.newest
        with camera.making:
            if camera.made.number < number != after:
                camera.made = _made(number, read)
            made = camera.made
        return replace(made, age=self._clock() - at, jpeg=made.jpeg if made.number != after else b"")


def _made(number: int, read: Callable[[], np.ndarray]) -> Picture:
    try:
        return Picture(number, jpeg=encoded(read()))
    except (ValueError, cv2.error) as error:
        return Picture(number, problem=str(error))


def encoded(rgb: np.ndarray) -> bytes:
    """JPEG of uint8 RGB (h, w, 3), at most `WIDEST` wide."""
    height, width = rgb.shape[:2]
    if width > WIDEST:
        rgb = cv2.resize(rgb, (WIDEST, max(1, round(height * WIDEST / width))), interpolation=cv2.INTER_AREA)
    _, jpeg = cv2.imencode(".jpg", cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return jpeg.tobytes()
