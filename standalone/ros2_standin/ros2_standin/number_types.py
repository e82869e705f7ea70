"""Numbers on the command line."""

from __future__ import annotations

import argparse


def positive_float(text: str) -> float:
    """A number above zero."""
    return _above(float, text, 0.0, equal=False)


def not_negative_float(text: str) -> float:
    """A number, zero included."""
    return _above(float, text, 0.0, equal=True)


def positive_int(text: str) -> int:
    """A whole number above zero."""
    return _above(int, text, 0, equal=False)


def unsigned_int(text: str) -> int:
    """A whole number, zero included."""
    return _above(int, text, 0, equal=True)


def _above(kind: type, text: str, bound: float, equal: bool):  # noqa: ANN202 - an instance of kind
    try:
        value = kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not the valid type ({kind.__name__})") from None
    if not (value >= bound if equal else value > bound):
        raise argparse.ArgumentTypeError(f"{text} is not in the valid range ({'>=' if equal else '>'} {bound})")
    return value
