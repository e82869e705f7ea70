"""Features in LeRobot's own form: a dictionary of dtype, shape and names for every column."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from rlt_ros.data.lerobot.errors import DatasetError

Feature = dict[str, Any]
Features = dict[str, Feature]

CAMERA = ("image", "video")
NUMBERS = ("float32", "float64", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")
COUNTED: Features = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
"""Columns that the writer fills in itself; every LeRobot dataset has them."""


def complete(features: Mapping[str, Feature]) -> Features:
    """Features as info.json has them: the caller's, checked, and the counted ones. Raises DatasetError."""
    result = {key: _checked(key, deepcopy(dict(feature))) for key, feature in features.items() if key not in COUNTED}
    if not result:
        raise DatasetError("features: none given")
    return result | deepcopy(COUNTED)


def cameras(features: Mapping[str, Feature], *dtypes: str) -> list[str]:
    """Keys of image and video features, or of one of the two; depth maps are left out."""
    wanted = dtypes or CAMERA
    return [key for key, feature in features.items() if feature["dtype"] in wanted and not is_depth(feature)]


def numbers(features: Mapping[str, Feature]) -> list[str]:
    """Keys of the features that hold numbers."""
    return [key for key, feature in features.items() if feature["dtype"] in NUMBERS]


def is_depth(feature: Feature) -> bool:
    """Whether a camera feature holds depth maps, by the marks of any LeRobot version."""
    marks = {**(feature.get("video_info") or {}), **(feature.get("info") or {})}
    return bool(marks.get("is_depth_map") or marks.get("video.is_depth_map"))


def element_names(feature: Feature) -> list[str]:
    """Names of a vector's elements: a list, or the lists of a dictionary one after the other; empty without names."""
    names = feature.get("names") or []
    lists = names.values() if isinstance(names, Mapping) else [names]
    return [str(name) for part in lists for name in (part if isinstance(part, (list, tuple)) else [part])]


def picture_shape(feature: Feature) -> tuple[int, int, int]:
    """Height, width and channels of a camera feature, whichever way round its shape is given."""
    shape = tuple(int(side) for side in feature["shape"])
    names = [str(name) for name in feature.get("names") or []]
    channel_first = names[:1] in (["channel"], ["channels"]) or (not names and shape[0] in (1, 3) and shape[2] > 3)
    return (shape[1], shape[2], shape[0]) if channel_first else (shape[0], shape[1], shape[2])


def check_frame(features: Mapping[str, Feature], frame: Mapping[str, np.ndarray | str]) -> None:
    """Raise DatasetError unless a frame has a fitting, finite value for every feature that is not counted."""
    expected = set(features) - set(COUNTED)
    if set(frame) != expected:
        missing, unknown = sorted(expected - set(frame)), sorted(set(frame) - expected)
        raise DatasetError(f"frame: missing {missing}, unknown {unknown}; the dataset has {sorted(expected)}")
    for key, value in frame.items():
        check_value(key, features[key], value)


def check_value(key: str, feature: Feature, value: np.ndarray | str) -> None:
    """Raise DatasetError unless a value has the feature's dtype and shape and is finite."""
    if feature["dtype"] == "string":
        if not isinstance(value, str):
            raise DatasetError(f"{key}: {type(value).__name__}; expected a string")
        return
    camera = feature["dtype"] in CAMERA
    dtype = np.dtype(np.uint8 if camera else feature["dtype"])
    shape = picture_shape(feature) if camera else tuple(feature["shape"])
    found = np.asarray(value)
    if found.dtype != dtype or found.shape != shape:
        raise DatasetError(f"{key}: {found.dtype} {found.shape}; expected {dtype} {shape}")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise DatasetError(f"{key}: not finite: {found.tolist()}")


def compare_features(ours: Mapping[str, Feature], theirs: Mapping[str, Feature]) -> None:
    """Raise DatasetError at the first feature that differs, with both; how a video was encoded does not count."""
    for key in dict.fromkeys([*ours, *theirs]):
        here, there = _essence(ours.get(key)), _essence(theirs.get(key))
        if here != there:
            raise DatasetError(f"feature {key}: {here} wanted, {there} in the dataset")


def _essence(feature: Feature | None) -> Feature | None:
    if feature is None:
        return None
    shape = list(picture_shape(feature) if feature["dtype"] in CAMERA else feature["shape"])
    kept = {"dtype": feature["dtype"], "shape": shape}
    if feature["dtype"] in CAMERA:
        return kept
    return kept | {"names": element_names(feature), "info": feature.get("info") or {}}


def _checked(key: str, feature: Feature) -> Feature:
    dtype, shape = feature.get("dtype"), [int(side) for side in feature.get("shape", ())]
    if "/" in key or not key:
        raise DatasetError(f"feature {key!r}: a name must not be empty or contain '/'")
    if dtype not in (*CAMERA, *NUMBERS, "string"):
        raise DatasetError(
            f"feature {key}: dtype {dtype!r}; expected one of {', '.join((*CAMERA, *NUMBERS, 'string'))}"
        )
    if not shape or min(shape) < 1:
        raise DatasetError(f"feature {key}: shape {shape}; expected positive sides")
    if dtype in CAMERA and (len(shape) != 3 or picture_shape(feature)[2] != 3):
        raise DatasetError(f"feature {key}: shape {shape}; expected a colour picture (height, width, 3)")
    if dtype == "video" and any(side % 2 for side in picture_shape(feature)[:2]):
        raise DatasetError(f"feature {key}: {shape[0]} x {shape[1]} pixels; a video needs even sides")
    names = element_names(feature)
    if dtype in NUMBERS and names and len(shape) == 1 and len(names) != shape[0]:
        raise DatasetError(f"feature {key}: {len(names)} names for shape {shape}")
    return {**feature, "dtype": dtype, "shape": shape, "names": feature.get("names")}
