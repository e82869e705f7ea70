"""The packages that datasets need beyond the core; their absence is an error that names the pip extra."""

from __future__ import annotations

try:
    import av
    import cv2
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq
except ImportError as error:
    raise ImportError(f"{error.name} is missing: pip install 'rlt_ros[data,vision]'") from error

__all__ = ["av", "cv2", "ds", "pa", "pq"]
