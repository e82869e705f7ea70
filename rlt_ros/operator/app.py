"""The operator's view in a terminal, built with Textual."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.widgets import Static

from rlt_ros.operator import view
from rlt_ros.operator.client import STALE, Client, silence
from rlt_ros.operator.keys import GO_ON, HELP, QUIT, STOP, Keys, key_name
from rlt_ros.operator.presses import ANSWER_WITHIN, KeyTest, Presses
from rlt_ros.operator.screens import HelpScreen, KeyTestScreen
from rlt_ros.operator.style import CSS, paint

REFRESH = 0.1
"""s between two looks at the newest status."""
TILES = ("phase", "mode", "drives", "episode")


class ConsoleApp(App[None]):
    """Shows the newest status and turns keys into requests.

    Keys are taken here alone, whatever screen is shown, and a stop is sent before anything else is looked at.
    tests_keys: the key test comes first. within: seconds to wait for an answer.
    """

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [Binding("ctrl+c", "quit", show=False, priority=True)]

    def __init__(
        self,
        client: Client,
        keys: Keys,
        tests_keys: bool = True,
        within: float = ANSWER_WITHIN,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._client, self.keys, self._clock = client, keys, clock
        self._presses = Presses(client, self._say, within, clock)
        self._opened = clock()
        self._log: deque[view.Line] = deque(maxlen=4)
        self._parts: dict[str, Static] = {}
        self._shown: dict[str, list[view.Line]] = {}
        self._leaving = False
        self._loop_here: asyncio.AbstractEventLoop | None = None
        self.test = KeyTest(keys) if tests_keys else None

    def compose(self) -> ComposeResult:
        """The screen from top to bottom."""
        yield self._part("title")
        yield self._part("banner")
        with Horizontal(id="tiles"):
            for name in TILES:
                yield self._part(name, name, "tile")
        with Horizontal(id="panels"):
            yield self._part("session", "session", "panel fact")
            yield self._part("learning", "learning and arm", "panel fact")
        yield self._part("warnings", "warnings", "panel fact")
        yield self._part("presses", "presses, newest first", "panel")
        yield self._part("keys")

    def _part(self, name: str, title: str = "", classes: str = "") -> Static:
        part = self._parts[name] = Static(id=name, classes=classes)
        part.border_title = title
        return part

    def on_mount(self) -> None:
        """Begin to look."""
        self._loop_here = asyncio.get_running_loop()
        if self._leaving:
            self.exit()
        self.set_interval(REFRESH, self.look)
        if self.test is not None:
            self.push_screen(KeyTestScreen(self.keys, self.test))
        self.look()

    def leave(self) -> None:
        """Close the view, from whatever thread or signal handler, also before it is open."""
        self._leaving = True
        if self._loop_here is not None:
            self._loop_here.call_soon_threadsafe(self.exit)

    # what is shown

    def look(self) -> None:
        """Show the newest status."""
        if not all(part.is_attached for part in self._parts.values()):
            return  # the view is being closed, part by part
        received = self._client.newest()
        waited = self._clock() - self._opened
        alarm = silence(received, self._client.where, waited)
        self._parts["banner"].display = bool(alarm)
        self._show("banner", [[(alarm, "")]])
        old = received is None or received.age > STALE
        self.screen_stack[0].set_class(old, "old")
        age = "no status yet" if received is None else f"status {received.age:.1f} s old" if old else "up to date"
        devices = view.devices(None if received is None else received.status)
        self._show("title", [[(f"rlt_ros console  {self._client.where}  ", "strong"), (age, "bad" if old else "dim")]])
        self._parts["warnings"].border_subtitle = paint(devices).plain
        if isinstance(self.screen, KeyTestScreen) and self.screen.is_mounted and self.screen.devices != devices:
            self.screen.devices = devices
            self.screen.tell()
        # A long answer takes two lines; the newest stands where nothing pushes it out of the frame.
        self._show("presses", list(self._log)[::-1] or [[("none yet", "dim")]])
        self._show("keys", view.hints(self.keys.card, self.size.width - 2))
        if received is None:
            return
        status = received.status
        for name, line in view.tiles(status).items():
            self._show(name, [line])
        self._show("session", view.session(status))
        self._show("learning", view.learning(status))
        self._show("warnings", view.warnings(status))
        self._parts["presses"].border_subtitle = view.last_answer(status)

    def _show(self, name: str, lines: list[view.Line]) -> None:
        # What has not changed is not sent again: the line over ssh may be thin.
        if self._shown.get(name) != lines:
            self._shown[name] = lines
            self._parts[name].update(Content("\n").join(paint(line) for line in lines))

    # keys

    def on_key(self, event: Key) -> None:
        """A key of the keys file; the rest means nothing."""
        event.stop()
        key = key_name(event.key, event.character)
        action = self.keys.action(key)
        if action == STOP:
            self._presses.press(STOP)
        if isinstance(self.screen, KeyTestScreen):
            self._try(key)
        elif isinstance(self.screen, HelpScreen):
            self.pop_screen()
        elif action == HELP:
            self.push_screen(HelpScreen(self.keys))
        elif action == QUIT:
            self.exit()
        elif action is not None and action != STOP:
            self._presses.press(action)

    def _try(self, key: str) -> None:
        if key == GO_ON:
            self.pop_screen()
            return
        self.test.press(key)
        self.screen.tell()

    def _say(self, action: str, text: str, mood: str) -> None:
        # A key that is held says the same all the time.
        if mood != "dim" or not self._log or self._log[-1][-1][0] != text:
            self._log.append([(time.strftime("%H:%M:%S  "), "dim"), (text, mood)])
            self.look()
