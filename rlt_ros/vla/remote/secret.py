"""The shared secret of a VLA server and its clients, which itself never travels."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

VARIABLE = "RLT_VLA_TOKEN"
"""Environment variable that holds the secret where no file is named."""
SHORTEST = 16


def read_secret(file: str) -> bytes:
    """The secret: content of a file, without white space around it, else of `VARIABLE`, else empty: none.

    Raises ValueError on a secret that is too short to be one, OSError where the file cannot be read.
    """
    where, text = (file, Path(file).read_text()) if file else (VARIABLE, os.environ.get(VARIABLE, ""))
    secret = text.strip().encode()
    if (file or secret) and len(secret) < SHORTEST:
        raise ValueError(f"{where}: secret of {len(secret)} bytes; expected {SHORTEST} or more")
    return secret


def answer(secret: bytes, nonce: bytes) -> bytes:
    """What proves that one has the secret: HMAC-SHA256 of the other side's nonce; empty without a secret."""
    return hmac.new(secret, nonce, hashlib.sha256).digest() if secret else b""


def proven(secret: bytes, nonce: bytes, mac: bytes) -> bool:
    """Whether an answer is right, in constant time; without a secret any is."""
    return not secret or hmac.compare_digest(answer(secret, nonce), mac)
