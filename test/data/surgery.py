"""Faults planted in the files of a dataset, where the writer would refuse them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def data(root, episode):
    return root / f"data/chunk-000/file-{episode:03d}.parquet"


def video(root, key, episode):
    return root / f"videos/{key}/chunk-000/file-{episode:03d}.mp4"


def set_numbers(root, episode, key, change):
    """change: is given the column as an array, to spoil it."""
    table = pq.read_table(data(root, episode))
    values = np.array(table[key].to_pylist(), dtype=np.float32)
    change(values)
    column = (
        pa.array(values)
        if values.ndim == 1
        else pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
    )
    pq.write_table(table.set_column(table.column_names.index(key), key, column), data(root, episode))


def set_cell(root, episode, key, frame, value):
    table = pq.read_table(data(root, episode))
    cells = table[key].to_pylist()
    cells[frame] = value
    column = pa.array(cells, table[key].type)
    pq.write_table(table.set_column(table.column_names.index(key), key, column), data(root, episode))


def drop_rows(root, episode, count):
    table = pq.read_table(data(root, episode))
    pq.write_table(table.slice(0, len(table) - count), data(root, episode))


def set_task(root, text):
    table = pq.read_table(root / "meta/tasks.parquet")
    pq.write_table(table.set_column(1, "task", pa.array([text])), root / "meta/tasks.parquet")


def set_stats(root, key, name, dim, value):
    path = root / "meta/stats.json"
    content = json.loads(path.read_text())
    content[key][name][dim] = value
    path.write_text(json.dumps(content))


def cut_video(root, key, episode, pictures):
    """Encode all but the last pictures anew."""
    from rlt_ros.data.lerobot.decoder import picture_count, pictures_at
    from rlt_ros.data.lerobot.encoder import VideoEncoder

    path = video(root, key, episode)
    kept = list(pictures_at(path, [k / 20 for k in range(picture_count(path) - pictures)]))
    encoder = VideoEncoder(path, 20, *kept[0].shape[:2], "h264")
    for picture in kept:
        encoder.add(picture)
    encoder.close()
