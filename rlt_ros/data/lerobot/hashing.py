"""The hash of a dataset's content: the same wherever it lies, however its files are cut, in v2.1 and in v3.0.

SHA-256 over, in this order: fps; of every feature that is not counted, by name, its dtype, shape and element names;
then of every episode its number of frames, the task of every frame, the timestamps, and of every feature by name the
numbers (little-endian, row by row), the texts, or the encoded pictures as they are stored. Paths, times of files,
chunks, statistics, the order of columns and indices into tables do not count. A picture that was encoded anew does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import numpy as np

from rlt_ros.data.lerobot.decoder import packets
from rlt_ros.data.lerobot.episode import Episode
from rlt_ros.data.lerobot.features import COUNTED, Features, element_names
from rlt_ros.data.lerobot.reader import DatasetReader


def dataset_hash(reader: DatasetReader) -> str:
    """64 hexadecimal digits; see the module. Reads every file once, decodes nothing."""
    digest = hashlib.sha256(_described(reader.fps, reader.features))
    for episode in reader:
        for part in _parts(episode, reader.fps):
            # With its length before each part, no two sequences of parts look the same.
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _described(fps: float, features: Features) -> bytes:
    kept = {key: (f["dtype"], list(f["shape"]), element_names(f)) for key, f in features.items() if key not in COUNTED}
    return json.dumps([float(fps), kept], sort_keys=True).encode()


def _parts(episode: Episode, fps: float) -> Iterator[bytes]:
    yield len(episode).to_bytes(8, "little")
    yield json.dumps(episode.tasks).encode()
    yield _little_endian(episode.arrays["timestamp"])
    for key, feature in sorted(episode.features.items()):
        if key in COUNTED:
            continue
        if key in episode.arrays:
            yield _little_endian(episode.arrays[key])
        elif key in episode.texts:
            yield json.dumps(episode.texts[key]).encode()
        elif feature["dtype"] == "video" and key in episode.record.videos:
            span = episode.record.videos[key]
            yield from (data for _, data in packets(span.path, span.start, span.start + len(episode) / fps))
        elif feature["dtype"] == "image":
            yield from episode.encoded(key)


def _little_endian(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
