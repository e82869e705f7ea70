"""Debian's Chromium, driven by Playwright, as a test sees a page in it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
# Without a screen, as root, and quiet: it would look for updates and for its maker's hosts.
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --force-color-profile=srgb"
).split()
SHOWN = """where => {
    const found = document.querySelector(where);
    return found?.getClientRects().length ? found.innerText : "";
}"""
PIXEL = """image => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return [canvas.width, canvas.height, ...context.getImageData(canvas.width / 4, canvas.height / 2, 1, 1).data];
}"""


def why_not() -> str:
    """Why there is no browser here, empty if there is."""
    if CHROMIUM is None:
        return "no Chromium: as root, python3 standalone/environment --with-browser (apt-get install chromium)"
    return "" if find_spec("playwright") else "no Playwright: pip install playwright"


class View:
    """A page of its own browser profile. tick: lets the rest of the graph go on; always true."""

    def __init__(self, context: Any, url: str, tick: Callable[[], bool]) -> None:
        self.page, self._tick = context.new_page(), tick
        self.elsewhere: list[str] = []
        self.errors: list[str] = []
        home = url.split("/")[2]
        self.page.on("request", lambda r: self._watch(r.url, home))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.answer = self.page.goto(url)

    def _watch(self, url: str, home: str) -> None:
        if not url.startswith(("blob:", "data:")) and url.split("/")[2] != home:
            self.elsewhere.append(url)

    def text(self, where: str = "body") -> str:
        """What is shown at a selector, empty where that is not there or hidden."""
        from playwright.sync_api import Error

        try:
            return self.page.evaluate(SHOWN, where)
        except Error as error:
            if "navigation" not in str(error):
                raise
            return ""  # the page is being loaded again

    def part(self, name: str) -> str:
        """What a part of the page shows."""
        return self.text(f"[data-part={name}]")

    def until(self, what: Callable[[], object], why: str, timeout: float = 60.0) -> None:
        """Wait for something; fails with what the page shows."""
        end = time.monotonic() + timeout
        while not (self._tick() and what()):
            assert time.monotonic() < end, f"{timeout} s without {why}; {self.errors}; shown:\n{self.text()}"

    def shows(self, *texts: str, where: str = "body") -> None:
        """Wait for texts."""
        self.until(lambda: all(text in self.text(where) for text in texts), f"{texts} in {where}")

    def press(self, action: str) -> None:
        """Click on a button."""
        self.page.locator("#stop" if action == "stop" else f"[data-press={action}]").click()

    def pixel(self, camera: str) -> list[int]:
        """Width, height and the colour (RGBA) at a quarter of the width of a camera's picture; zeros without one."""
        image = self.page.locator(f"[data-camera={camera}] img")
        return image.evaluate(PIXEL) if image.evaluate("i => i.complete && i.naturalWidth") else [0] * 6


class Browser:
    """One Chromium; every view has a profile of its own."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium

    def open(
        self, url: str, tick: Callable[[], bool] = lambda: True, size: tuple[int, int] = (1280, 800), **options: Any
    ) -> View:
        """Open a page."""
        viewport = {"width": size[0], "height": size[1]}
        return View(self._chromium.new_context(viewport=viewport, **options), url, tick)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Chromium while it is needed. profile: an empty folder."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS, env={**os.environ, "HOME": str(profile), "TMPDIR": str(profile)}
        )
        try:
            yield Browser(chromium)
        finally:
            chromium.close()
