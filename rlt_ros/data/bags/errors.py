"""What can be wrong with a bag."""

from __future__ import annotations


class BagError(ValueError):
    """A bag, a topic or a mapping that cannot be used; names the file, topic or key and both values."""
