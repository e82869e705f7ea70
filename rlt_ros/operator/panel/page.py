"""The page: the newest status, the buttons, the pictures, the curve. Drawn by NiceGUI; pressed through `line`."""

from __future__ import annotations

import itertools
import time
from html import escape

from nicegui import ui

from rlt_ros.operator import view
from rlt_ros.operator.client import STALE, Received, silence
from rlt_ros.operator.panel import buttons, chart
from rlt_ros.operator.panel.frame import HEAD, figures, frame
from rlt_ros.operator.panel.paint import face, paint, paragraphs, rows
from rlt_ros.operator.panel.parts import Panel
from rlt_ros.operator.status import OperatorStatus

REFRESH = 0.1
"""s between two looks at the newest status."""
TILES = ("phase", "mode", "drives", "episode")


def add_page(panel: Panel) -> None:
    """The page at /."""

    @ui.page("/")
    def index() -> None:
        ui.add_head_html(HEAD)
        ui.add_body_html(frame(panel.keys, panel.name, panel.rate))
        page = Page(panel)
        ui.timer(REFRESH, page.look)


class Part:
    """An element whose HTML is sent only where it changes."""

    def __init__(self, name: str, tag: str = "div", classes: str = "", props: str = "") -> None:
        self._element = ui.html("", sanitize=False, tag=tag).classes(classes).props(f"data-part={name} {props}")
        self._shown: tuple[str, str] = ("", "")
        self._classes = classes

    def show(self, html: str, classes: str = "") -> None:
        """Other content, and classes beside its own."""
        if self._shown[0] != html:
            self._element.set_content(html)
        if self._shown[1] != classes:
            self._element.classes(replace=f"{self._classes} {classes}")
        self._shown = html, classes


class Page:
    """One browser's view."""

    def __init__(self, panel: Panel) -> None:
        self._panel, self._opened = panel, time.monotonic()
        self._parts: dict[str, Part] = {}
        self._drawn: object = None
        with ui.element("div").props("id=panel") as self._main:
            self._head()
            ui.html(figures(panel.cameras), sanitize=False, tag="section").classes("cameras")
            with ui.element("section").classes("buttons"):
                for heading, actions in buttons.GROUPS.items():
                    self._group(heading, actions)
                self._part("last", classes="last")
            with ui.element("section").classes("facts"):
                self._facts("session")
                self._facts("learning")
            with ui.element("section").classes("curve"):
                self._part("caption", "h2")
                self._chart = ui.echart(chart.options(panel.curve.points))
        self.look()

    def _head(self) -> None:
        with ui.element("header"):
            self._part("title", "h1")
            self._part("news")
        self._part("banner", classes="banner")
        with ui.element("section").classes("tiles"):
            for name in TILES:
                with ui.element("div").classes(f"tile {name}"):
                    ui.html(name, sanitize=False, tag="h2")
                    self._part(name, classes="fact")
        self._part("warnings", classes="warnings fact")

    def _part(self, name: str, tag: str = "div", classes: str = "") -> None:
        self._parts[name] = Part(name, tag, classes)

    def _facts(self, name: str) -> None:
        with ui.element("div"):
            ui.html(name, sanitize=False, tag="h2")
            self._part(name, "dl", "fact")

    def _group(self, heading: str, actions: tuple[str, ...]) -> None:
        with ui.element("div").classes("group"):
            ui.html(heading, sanitize=False, tag="h2")
            for action in actions:
                props = f"type=button data-press={action}"
                self._parts[action] = Part(action, "button", f"press {action}", props)

    def look(self) -> None:
        """Show the newest status."""
        received = self._panel.client.newest()
        where = self._panel.client.where
        self._parts["banner"].show(escape(silence(received, where, time.monotonic() - self._opened)))
        old = received is None or received.age > STALE
        self._main.classes(add="old" if old else "", remove="" if old else "old")
        self._parts["title"].show(paint(self._title(received, where, old)))
        self._draw()
        status = OperatorStatus() if received is None else received.status
        self._buttons(status, known=not old)
        if received is not None:
            self._facts_of(status)
        # The last of all: the script of the page looks whether this goes on.
        self._parts["news"].show(f"{int(2.0 * time.monotonic())}")

    def _title(self, received: Received | None, where: str, old: bool) -> view.Line:
        age = "no status yet" if received is None else f"status {received.age:.0f} s old" if old else "up to date"
        devices = view.devices(None if received is None else received.status)
        return [("rlt_ros ", "strong"), (f"{where} ", "dim"), (f"{age}   ", "bad" if old else "dim"), *devices]

    def _facts_of(self, status: OperatorStatus) -> None:
        for name, line in view.tiles(status).items():
            self._parts[name].show(paint(line), line[0][1])
        self._parts["session"].show(rows(view.session(status)))
        # Why the arm holds has a line of its own here.
        learning = [line for line in view.learning(status) if line[0][0].strip() != "holds"]
        self._parts["learning"].show(rows(learning))
        told = status.hold_reason or status.warnings or status.hints
        self._parts["warnings"].show(paragraphs(view.warnings(status)) if told else "")
        self._parts["last"].show(paint([(view.last_answer(status), "dim")]))

    def _buttons(self, status: OperatorStatus, known: bool) -> None:
        for action in itertools.chain(*buttons.GROUPS.values()):
            look = buttons.look(action, status) if known else buttons.Look("", False)
            keys = self._panel.keys.of(action)
            classes = f"{'refused' if look.refused else ''} {'on' if look.on else ''}"
            self._parts[action].show(face(action, keys, look), classes.strip())

    def _draw(self) -> None:
        points = self._panel.curve.points
        if points is self._drawn:
            return
        self._drawn = points
        self._parts["caption"].show(escape(chart.caption(points)))
        self._chart.options.clear()
        self._chart.options.update(chart.options(points))
        self._chart.update()
