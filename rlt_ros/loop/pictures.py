"""Full-size camera pictures for observations that carry small ones: those that the observation was made of."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rlt_ros.types import Observation

Pictures = dict[str, np.ndarray]


class FullPictures:
    """Holds observations back until every camera's picture for them is here.

    An observation's picture is the newest one stamped at or before it, as in the observation node. exact: it must have
    the observation's very stamp (lockstep). Otherwise it is known to be the newest one as soon as a later picture has
    come; an observation is given up after `patience` further ones, and what is missing then shows as a gap.
    """

    def __init__(self, cameras: Iterable[str], exact: bool, patience: int = 10, depth: int = 30) -> None:
        self._held: dict[str, deque[tuple[int, np.ndarray]]] = {camera: deque(maxlen=depth) for camera in cameras}
        self._exact, self._patience = exact, patience
        self._waiting: deque[Observation] = deque()

    def picture(self, camera: str, stamp: int, rgb: np.ndarray) -> list[Observation]:
        """Take a picture, uint8 (h, w, 3), stamp in ns; returns the observations that are complete now."""
        held = self._held[camera]
        if not held or stamp > held[-1][0]:
            held.append((stamp, rgb))
        return self._complete()

    def observation(self, observation: Observation) -> list[Observation]:
        """Take an observation; returns those that are complete now, in their order."""
        if not self._waiting or observation.id > self._waiting[-1].id:
            self._waiting.append(observation)
        return self._complete()

    def _complete(self) -> list[Observation]:
        ready = []
        while self._waiting:
            pictures = self._pictures(self._waiting[0].stamp)
            if pictures is not None:
                ready.append(replace(self._waiting.popleft(), images=pictures))
            elif len(self._waiting) > self._patience:
                self._waiting.popleft()
            else:
                break
        return ready

    def _pictures(self, stamp: int) -> Pictures | None:
        found = {camera: self._picture(held, stamp) for camera, held in self._held.items()}
        return None if any(rgb is None for rgb in found.values()) else found

    def _picture(self, held: deque[tuple[int, np.ndarray]], stamp: int) -> np.ndarray | None:
        newest = next(((s, rgb) for s, rgb in reversed(held) if s <= stamp), None)
        if newest is None:
            return None
        known = newest[0] == stamp if self._exact else newest[0] == stamp or held[-1][0] > stamp
        return newest[1] if known else None
