"""What a button says beforehand is what teleop's own machine answers; what is shown is text, never markup."""

from __future__ import annotations

import numpy as np
import pytest
from operator_parts import PRESET

from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.operator.keys import REQUESTS, STOP, Keys, load_keys
from rlt_ros.operator.panel.buttons import GROUPS, Look, look
from rlt_ros.operator.panel.frame import figures, frame
from rlt_ros.operator.panel.keymap import browser_keys
from rlt_ros.operator.panel.paint import face, paint, paragraphs, rows
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Driver, ExecutedStep, Mode

ACTIONS = [action for group in GROUPS.values() for action in group]
STARTS = GROUPS["start poses"]
OPEN, CLOSED = (True, ""), (False, "212 of 512 rows")
STILL = np.zeros(7, np.float32)
SCRIPT = "<script>alert(1)</script>"


class Desk:
    """A phase machine, and the status that teleop would send of it."""

    def __init__(self, gate: tuple[bool, str]) -> None:
        self._gate = gate
        self.machine = PhaseMachine(lambda: gate, debounce_ns=0)
        self._id = self._episode = 0
        self.step()

    def step(self, reset_done: bool = False) -> None:
        self._id += 1
        done = ExecutedStep(self._id - 1, 0, self._episode, 0, Driver.HOLD, STILL, STILL, 0, reset_done=reset_done)
        self._episode += reset_done
        self.machine.observe(self._id, self._id * 10**9, self._episode, done if self._id > 1 else None)

    def press(self, *actions: str) -> None:
        for action in actions:
            assert self.machine.request(REQUESTS[action]).accepted, action
            self.step()
            # A reset takes a step; `reset` alone leaves it under way.
            if action == "next":
                self.step(reset_done=True)

    @property
    def status(self) -> OperatorStatus:
        machine, (is_open, reason) = self.machine, self._gate
        return OperatorStatus(
            phase=machine.phase, mode=machine.mode, paused=machine.paused, gate_open=is_open, gate_reason=reason
        )


PLACES = {
    "idle": (),
    "a reset": ("reset",),
    "the approach": ("next",),
    "the critical phase": ("next", "begin"),
    "a person drives": ("next", "begin", "human"),
    "the label": ("next", "begin", "success"),
    "a stop": ("next", "begin", STOP),
    "a pause to come": ("next", "begin", "pause"),
    "a pause": ("next", "begin", "pause", "failure"),
    "a pause in a reset": ("reset", "pause"),
}
LEFT_TO_TELEOP = {("the label", "vla"), ("a pause", "vla")}
"""Refused for a plan that no status tells of: the button does not pretend to know."""


def test_every_request_has_a_button_and_stop_stands_by_itself() -> None:
    assert sorted([*ACTIONS, STOP]) == sorted(REQUESTS)


@pytest.mark.parametrize("gate", [OPEN, CLOSED], ids=["open", "closed"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("action", [action for action in ACTIONS if action not in STARTS])
def test_a_button_says_what_teleop_would_answer(action: str, place: str, gate: tuple[bool, str]) -> None:
    desk = Desk(gate)
    desk.press(*PLACES[place])
    shown = look(action, desk.status)
    accepted = desk.machine.request(REQUESTS[action]).accepted
    assert accepted == (shown.refused == "") or (place, action) in LEFT_TO_TELEOP, shown


def test_what_is_so_already_is_marked() -> None:
    desk = Desk(OPEN)
    desk.press("next", "begin", "rl", "pause")
    assert {action for action in ACTIONS if look(action, desk.status).on} == {"begin", "rl", "pause"}
    assert desk.status.mode is Mode.RL


def test_the_gate_stands_on_the_button() -> None:
    desk = Desk(CLOSED)
    desk.press("next", "begin")
    assert look("rl", desk.status).refused == "gate closed: 212 of 512 rows"


def test_start_poses_that_are_not_there_cannot_be_forgotten() -> None:
    assert look("start_anywhere", OperatorStatus()).refused == "none is saved"
    assert look("start_anywhere", OperatorStatus(start_poses=2)) == Look("", False)
    assert look("start_here", OperatorStatus(mode=Mode.RESET)) == Look("", False)


def test_a_browser_knows_the_keys_of_the_file() -> None:
    keys = browser_keys(load_keys(PRESET))
    assert keys[" "] == STOP
    assert keys["b"] == "begin" and keys["0"] == "reset" and keys["?"] == "help"
    assert "quit" not in keys.values()
    named = Keys({STOP: ("pagedown", "f5", "escape", "A"), "begin": ("up", "tab", "backspace")})
    assert set(browser_keys(named)) == {"PageDown", "F5", "Escape", "A", "ArrowUp", "Tab", "Backspace"}


def test_what_is_shown_is_text() -> None:
    line = [("name ", "dim"), (SCRIPT, "bad")]
    for html in (paint(line), rows([line]), paragraphs([line]), face("rl", SCRIPT, Look(SCRIPT, False))):
        assert "<script" not in html
        assert "&lt;script&gt;alert(1)" in html
    keys = Keys({STOP: ("<",), "begin": ("&", '"')})
    html = frame(keys, SCRIPT, 5.0) + figures({SCRIPT: '/a" onload="x'})
    assert SCRIPT not in html
    assert "<kbd>&lt;</kbd>" in html
    assert 'data-topic="/a&quot; onload=&quot;x"' in html
