"""What stands around the page as plain HTML: stop, the answers, the word that nobody hears it.

Nothing of it waits for the page's framework to come up, or goes down with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape

from rlt_ros.operator.keys import STOP, Keys
from rlt_ros.operator.panel.keymap import browser_keys

HEAD = '<link rel="stylesheet" href="/static/panel.css">'


def frame(keys: Keys, panel: str, rate: float) -> str:
    """HTML for the end of the body. panel: name of this process. rate: pictures a second of each camera."""
    config = {"keys": browser_keys(keys), "panel": panel, "rate": rate}
    return f"""
<div id="card" hidden><h2>keys</h2><dl>{_card(keys)}</dl></div>
<div id="lost" role="alert" hidden>
  <h1>NO CONNECTION TO THE PANEL</h1>
  <h2>STOP DOES NOT WORK FROM HERE</h2>
  <p>Use the console, a pedal, or the stop of the robot itself.</p>
  <p id="why"></p>
</div>
<footer id="foot">
  <div id="answers" aria-live="polite"></div>
  <button id="stop" type="button"><b>STOP</b><kbd>{escape(keys.of(STOP))}</kbd></button>
</footer>
<script type="application/json" id="config">{_script(config)}</script>
<script src="/static/panel.js"></script>
"""


def figures(cameras: Mapping[str, str]) -> str:
    """A place for each picture. cameras: name to topic."""
    return "".join(
        f'<figure data-camera="{escape(name)}" data-topic="{escape(topic)}"><img alt="{escape(name)}">'
        f"<figcaption><b>{escape(name)}</b> <span></span></figcaption></figure>"
        for name, topic in cameras.items()
    )


def _card(keys: Keys) -> str:
    rows: Iterable[tuple[str, str, str]] = (row for row in keys.card if row[1] != "quit")
    return "".join(f"<dt><kbd>{escape(k)}</kbd></dt><dd><b>{a}</b> {escape(what)}</dd>" for k, a, what in rows)


def _script(value: object) -> str:
    return json.dumps(value).replace("<", "\\u003c")
