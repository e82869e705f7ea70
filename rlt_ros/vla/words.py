"""Instructions to rows of a word table."""

from __future__ import annotations

import zlib


def word_rows(instruction: str, slots: int, buckets: int) -> list[int]:
    """Row of each word, 1 to buckets; 0 is left for padding. Raises ValueError if there are more words than slots.

    CRC-32 and not `hash`, which differs from process to process.
    """
    words = instruction.lower().split()
    if len(words) > slots:
        raise ValueError(f"instruction: {len(words)} words in {instruction!r}; the model has {slots} slots")
    return [1 + zlib.crc32(word.encode()) % buckets for word in words]
