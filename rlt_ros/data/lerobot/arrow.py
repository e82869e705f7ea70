"""Rows of an episode as an Arrow table with the types that LeRobot's loader expects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from rlt_ros.data.lerobot.extras import pa
from rlt_ros.data.lerobot.features import Feature

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def arrow_type(feature: Feature) -> pa.DataType:
    """Type of a column: a scalar for shape [1], a list of fixed size for a vector, nested lists beyond."""
    if feature["dtype"] == "image":
        return PICTURE
    item = _scalar(feature["dtype"])
    shape = feature["shape"]
    if list(shape) == [1]:
        return item
    for side in reversed(shape):
        # LeRobot reads matrices as extension types whose storage has lists of any length.
        item = pa.list_(item, side) if len(shape) == 1 else pa.list_(item)
    return item


def schema(features: Mapping[str, Feature]) -> pa.Schema:
    """Schema of a data file; videos are files of their own. The metadata makes viewers show the pictures."""
    columns = {key: feature for key, feature in features.items() if feature["dtype"] != "video"}
    fields = [pa.field(key, arrow_type(feature)) for key, feature in columns.items()]
    described = {"info": {"features": {key: _described(feature) for key, feature in columns.items()}}}
    return pa.schema(fields, metadata={"huggingface": json.dumps(described)})


def column(feature: Feature, values: Sequence[object]) -> pa.Array:
    """A column from one value a row: arrays of the feature's shape, strings or PNG bytes with a name."""
    kind = arrow_type(feature)
    if feature["dtype"] in ("string", "image"):
        return pa.array(values, type=kind)
    stacked = np.stack([np.asarray(value) for value in values]).astype(feature["dtype"])
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(pa.array(stacked.ravel()), kind.list_size)
    flat = stacked.reshape(len(stacked)) if stacked.ndim <= 2 else stacked
    return pa.array(flat) if flat.ndim == 1 else pa.array(flat.tolist(), type=kind)


def _scalar(dtype: str) -> pa.DataType:
    return pa.bool_() if dtype == "bool" else pa.type_for_alias(dtype)


def _described(feature: Feature) -> dict[str, object]:
    """A column in the words of the `datasets` library."""
    if feature["dtype"] == "image":
        return {"_type": "Image"}
    value = {"dtype": feature["dtype"], "_type": "Value"}
    shape = list(feature["shape"])
    if shape == [1]:
        return value
    if len(shape) == 1:
        return {"feature": value, "length": shape[0], "_type": "List"}
    return {"shape": shape, "dtype": feature["dtype"], "_type": f"Array{len(shape)}D"}
