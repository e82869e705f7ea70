"""Lines of `view` as HTML. Whatever they say is text: names and reasons come from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rlt_ros.operator.panel.buttons import Look
from rlt_ros.operator.view import Line


def paint(line: Line) -> str:
    """A line with the classes of its moods."""
    return "".join(f'<span class="{mood or "plain"}">{escape(text)}</span>' for text, mood in line)


def rows(lines: Iterable[Line]) -> str:
    """Lines whose first part is a name, as a table of names and the rest."""
    cells = ((line[0][0].strip(), paint(line[1:])) for line in lines)
    return "".join(f"<dt>{escape(name)}</dt><dd>{rest}</dd>" for name, rest in cells)


def paragraphs(lines: Iterable[Line]) -> str:
    """Lines below each other."""
    return "".join(f"<p>{paint(line)}</p>" for line in lines)


def face(action: str, keys: str, look: Look) -> str:
    """Of a button: what it does, its key, why it would be refused."""
    name = action.upper() if action in ("vla", "rl") else action.replace("_", " ")
    return f"<b>{name}</b><kbd>{escape(keys)}</kbd><small>{escape(look.refused)}</small>"
