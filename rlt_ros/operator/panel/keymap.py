"""The keys file in the words of a browser."""

from __future__ import annotations

from rlt_ros.operator.keys import QUIT, Keys

NAMES = {
    "space": " ",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "pageup": "PageUp",
    "pagedown": "PageDown",
}
"""Ours to that of `KeyboardEvent.key`; the others are the same but for a capital."""


def browser_key(key: str) -> str:
    """`KeyboardEvent.key` of a key of the keys file."""
    return key if len(key) == 1 else NAMES.get(key, key.capitalize())


def browser_keys(keys: Keys) -> dict[str, str]:
    """`KeyboardEvent.key` to action. Nothing in it quits: a page is closed as every other."""
    return {browser_key(key): action for action, own in keys.keys.items() if action != QUIT for key in own}
