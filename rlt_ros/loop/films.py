"""The first and the last episode of each evaluation as a GIF in the run directory."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from rlt_ros.files import write_whole

FOLDER = "films"
FRAMES = 120
"""At most of an episode; of a longer one every second, fourth .. observation."""
SIDE = 192
"""px, height of a picture in a film."""
CAPTION = 22
"""px, height of the line below."""
LAST = 1.5
"""s that the last frame stays."""
Pictures = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Film:
    """Pictures of an episode: (step, camera -> uint8 (h, w, 3)) each, and what to say of it."""

    frames: Sequence[tuple[int, Pictures]]
    caption: str

    def gif(self, rate: float) -> bytes:
        """A GIF that plays as the episode went. rate: control steps per second. Raises ImportError without Pillow."""
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("Pillow is missing: pip install 'rlt_ros[vision]'") from error
        steps = [step for step, _ in self.frames]
        seconds = [(after - before) / rate for before, after in zip(steps, steps[1:])] + [LAST]
        images = [Image.fromarray(self._frame(step, pictures)) for step, pictures in self.frames]
        buffer = io.BytesIO()
        times = [round(1e3 * each) for each in seconds]
        images[0].save(buffer, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0)
        return buffer.getvalue()

    def _frame(self, step: int, pictures: Pictures) -> np.ndarray:
        row = np.concatenate([_scaled(picture) for picture in pictures.values()], axis=1)
        line = np.zeros((CAPTION, row.shape[1], 3), np.uint8)
        text = f"{self.caption} | step {step}"
        cv2.putText(line, text, (5, 15), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (255, 255, 255), 1, cv2.LINE_AA)
        return np.concatenate([row, line])


class FilmFolder:
    """`films/` of a run directory. The last episode of a stage is known once another stage begins or the run ends."""

    def __init__(self, run_dir: Path, rate: float) -> None:
        self._folder, self._rate = run_dir / FOLDER, rate
        self._stages: set[str] = set()
        self._newest: tuple[str, Film] | None = None

    def add(self, stage: str, film: Film) -> None:
        """Take a film. Raises OSError, ImportError."""
        if self._newest is not None and self._newest[0] != stage:
            self.close()
        if stage in self._stages:
            self._newest = (stage, film)
            return
        self._stages.add(stage)
        self._write(f"{stage}-first", film)

    def close(self) -> None:
        """Write the last film of the stage under way, if it has more than one. Raises OSError, ImportError."""
        newest, self._newest = self._newest, None
        if newest is not None:
            self._write(f"{newest[0]}-last", newest[1])

    def _write(self, name: str, film: Film) -> None:
        self._folder.mkdir(exist_ok=True)
        write_whole(self._folder / f"{name}.gif", film.gif(self._rate))


def _scaled(picture: np.ndarray) -> np.ndarray:
    height, width = picture.shape[:2]
    return cv2.resize(picture, (round(width * SIDE / height), SIDE), interpolation=cv2.INTER_NEAREST)
