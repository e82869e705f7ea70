"""What lies over the view: the key test at start and the card of keys."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from rlt_ros.operator.keys import GO_ON, Keys
from rlt_ros.operator.presses import KeyTest
from rlt_ros.operator.style import paint
from rlt_ros.operator.view import Line, devices


class _Card(Screen[None]):
    """A framed text. Keys bubble to the app."""

    TITLE_TEXT = ""

    def compose(self) -> ComposeResult:
        """The frame."""
        card = Static(id="card")
        card.border_title = self.TITLE_TEXT
        yield card

    def on_mount(self) -> None:
        """Fill it."""
        self.tell()

    def tell(self) -> None:
        """Show the lines again."""
        self.query_one("#card", Static).update(Content("\n").join(paint(line) for line in self.lines()))

    def lines(self) -> list[Line]:
        """What stands in it."""
        raise NotImplementedError


class HelpScreen(_Card):
    """The card of keys."""

    TITLE_TEXT = "keys"

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self._keys = keys

    def lines(self) -> list[Line]:
        """A line for every action."""
        rows: list[Line] = [[(f" {keys:<9}", "strong"), (f"{action:<15}", ""), (what, "dim")]
                            for keys, action, what in self._keys.card]  # fmt: skip
        return [
            *rows,
            [(" Ctrl-C   ", "strong"), ("quit", "")],
            [(" any key goes back; stop stops from here too", "dim")],
        ]


class KeyTestScreen(_Card):
    """Every key of the file, marked once it has come through this terminal, and the input devices that are live."""

    TITLE_TEXT = "key test"

    def __init__(self, keys: Keys, test: KeyTest) -> None:
        super().__init__()
        self._keys, self._test = keys, test
        self.devices = devices(None)

    def lines(self) -> list[Line]:
        """What to do, a line for every action, what has come."""
        rows: list[Line] = [
            [("press the keys that you will use, then ", ""), (GO_ON, "strong")],
            [("nothing is sent from here but stop, which is", "dim")],
        ]
        for keys, action, _ in self._keys.card:
            came = action in self._test.tried
            rows.append(
                [(f" {keys:<9}", "strong"), (f"{action:<15}", ""), ("came" if came else "-", "good" if came else "dim")]
            )
        rows.append([("devices: ", "dim"), *self.devices])
        unknown = self._test.unknown
        rows.append([(f"{unknown!r} is not in the keys file", "warn") if unknown else ("", "")])
        return rows
