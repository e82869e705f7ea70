"""What can be wrong with a dataset."""

from __future__ import annotations


class DatasetError(ValueError):
    """A dataset, an episode or a frame that cannot be used; names the file or feature and both values."""
