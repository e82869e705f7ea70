"""meta/info.json: what a dataset says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Features

VERSION = "v3.0"
INFO = Path("meta/info.json")
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"


@dataclass
class Info:
    """The fields of info.json that LeRobot v3.0 writes. Sizes are upper bounds of files, in MB."""

    fps: int
    features: Features
    robot_type: str | None = None
    codebase_version: str = VERSION
    total_episodes: int = 0
    total_frames: int = 0
    total_tasks: int = 0
    chunks_size: int = 1000
    data_files_size_in_mb: int = 100
    video_files_size_in_mb: int = 200
    splits: dict[str, str] = field(default_factory=dict)
    data_path: str = DATA_PATH
    video_path: str | None = VIDEO_PATH
    extra: dict[str, Any] = field(default_factory=dict)
    """Keys of the file that are not known here; written back as they were."""

    @staticmethod
    def load(root: Path) -> Info:
        """Read a dataset's info.json. Raises DatasetError naming the file and what is wrong."""
        path = root / INFO
        if not path.is_file():
            raise DatasetError(f"{root}: not a LeRobot dataset: it has no {INFO}")
        try:
            content = json.loads(path.read_text())
            known = {f.name for f in fields(Info)} - {"extra"}
            info = Info(**{k: v for k, v in content.items() if k in known})
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise DatasetError(f"{path}: not the info.json of a LeRobot dataset: {error}") from error
        if not isinstance(info.fps, (int, float)) or info.fps <= 0 or not isinstance(info.features, dict):
            raise DatasetError(f"{path}: fps {info.fps!r} and features {type(info.features).__name__} make no dataset")
        info.extra = {k: v for k, v in content.items() if k not in known}
        return info

    def save(self, root: Path) -> None:
        """Write info.json below a directory."""
        path = root / INFO
        path.parent.mkdir(parents=True, exist_ok=True)
        content = asdict(self)
        path.write_text(json.dumps(content | content.pop("extra"), indent=4, ensure_ascii=False) + "\n")

    def place(self, number: int) -> dict[str, int]:
        """Chunk and file index of the file with a running number."""
        return {"chunk_index": number // self.chunks_size, "file_index": number % self.chunks_size}

    def number(self, chunk_index: int, file_index: int) -> int:
        """The inverse of `place`."""
        return chunk_index * self.chunks_size + file_index
