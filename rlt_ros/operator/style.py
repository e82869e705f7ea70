"""Colours and places of the view in a terminal of 80 x 24 characters and more."""

from __future__ import annotations

from textual.content import Content

from rlt_ros.operator.view import Line

STYLES = {
    "": "",
    "dim": "dim",
    "strong": "bold",
    "good": "bold $text-success",
    "warn": "bold $text-warning",
    "bad": "bold $text-error",
}
"""Mood of `view` -> Textual style."""

CSS = """
Screen { background: $background; }
Screen.old .tile, Screen.old .fact { opacity: 50%; }
#title { height: 1; padding: 0 1; }
#banner { display: none; height: 1; background: $error; color: $text; text-style: bold; text-align: center; }
#tiles { height: 3; }
.tile { width: 1fr; height: 3; border: round $primary; text-align: center; }
#episode { width: 2fr; }
#panels { height: 8; }
.panel { border: round $foreground 40%; border-title-color: $foreground; padding: 0 1; }
#session, #learning { width: 1fr; height: 8; }
#warnings { height: auto; min-height: 3; max-height: 5; }
#presses { height: 1fr; min-height: 3; max-height: 6; }
#keys { dock: bottom; height: auto; padding: 0 1; }
#card { border: round $primary; padding: 0 2; width: 72; height: auto; max-height: 100%; }
KeyTestScreen, HelpScreen { align: center middle; }
"""


def paint(line: Line) -> Content:
    """A line with its colours."""
    return Content.assemble(*((text, STYLES[mood]) for text, mood in line))
