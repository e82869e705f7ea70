"""The operator's status of a whole graph, and a pause in it."""

from __future__ import annotations

from collections.abc import Callable

from graph import Graph, Listener
from recorder import Person

from rlt_ros import msg, srv
from rlt_ros.nodes import qos
from rlt_ros.types import Mode, Phase

STATUS, WORD = "/rlt/operator_status", "/rlt/policy_mode"
TOPICS = {STATUS: (msg.OperatorStatus, qos.LATCHED), WORD: (msg.PolicyMode, None)}
HELD_IN = (Phase.LABELLED, Phase.APPROACH)
PAUSE, NEXT = srv.SetPolicyMode.Request.PAUSE, srv.SetPolicyMode.Request.NEXT


def test_a_pause_holds_between_two_episodes_until_next(stage2: Callable[..., Graph], listener: Listener) -> None:
    graph = stage2(domain=listener.domain, practice_minutes=20.0)
    person = Person(graph, listener)

    def status() -> msg.OperatorStatus:
        return listener.newest(STATUS)

    def wait(what: Callable[[], object], why: str) -> None:
        graph.wait_for(lambda: listener.spin() and status() is not None and what(), 120, why)

    wait(lambda: status().labels, "a labelled phase")
    assert person.mode(PAUSE).success
    # During a reset it lets the arm arrive at the start.
    wait(lambda: status().paused and status().phase in HELD_IN and status().mode == Mode.HOLD, "the hold")
    labels, words, phase = len(status().labels), len(listener.received[WORD]), status().phase
    wait(lambda: len(listener.received[WORD]) >= words + 40, "40 more observations")
    assert {(word.mode, word.phase) for word in listener.received[WORD][words:]} == {(Mode.HOLD, phase)}
    wait(lambda: status().rows > 0 and status().learner_silence >= 0.0, "the learner's figures")
    wait(lambda: status().robot_mode == "MOVE", "the mode of the robot")
    assert len(status().labels) == labels
    assert status().hold_reason.startswith("operator: ") or status().hold_reason == ""
    assert person.mode(NEXT).success
    wait(lambda: not status().paused and len(status().labels) > labels, "the next label")
    assert status().stage == "practice" and 0.0 < status().practice_minutes < status().practice_minutes_wanted == 20.0
