"""The status line says who drives, what is learned, and what is wrong with it."""

from __future__ import annotations

from types import SimpleNamespace

from rlt_ros.loop.report import News, status_line
from rlt_ros.loop.session import Progress
from rlt_ros.types import Driver

PROGRESS = Progress("practice", 7, 0.5, 2400, 8400)


def learner(**alarms: float) -> SimpleNamespace:
    return SimpleNamespace(rows=300, update_debt=0, critic_updates=1500, gate_open=True, gate_reason="", **alarms)


def test_without_alarms_the_line_ends_with_what_is_learned():
    line = status_line(PROGRESS, 20.0, None, learner(alarm_q=0.0, alarm_copy=0.0))
    assert line == "practice 2.0 of 7.0 min | episode 7 | last 20: 50 % | rows 300 | updates 1500"


def test_who_drives_is_who_did_the_last_step_and_an_arm_that_holds_is_said_to():
    line = status_line(PROGRESS, 20.0, None, None, driver=Driver.HUMAN)
    assert line.endswith("| HUMAN drives")
    assert status_line(PROGRESS, 20.0, None, None, driver=Driver.HOLD).endswith("| the arm holds")


def test_the_end_is_not_called_an_evaluation():
    line = status_line(Progress("done", 0, None, 8400, 8400), 20.0, None, None)
    assert line.startswith("done, waiting for the learner") and "evaluating" not in line


def test_raised_alarms_are_named():
    line = status_line(PROGRESS, 20.0, None, learner(alarm_q=0.0, alarm_copy=1.0, alarm_rows=1.0))
    assert line.endswith("| ALARM (the learner's log says more): copy, rows")


def link(silence: float) -> SimpleNamespace:
    return SimpleNamespace(node="/rlt/learner", host="gpu-pc", round_trip=0.0012, clock_offset=-0.2, silence=silence)


def test_the_link_to_another_machine_is_shown_and_its_silence_said():
    line = status_line(PROGRESS, 20.0, None, learner(), [link(0.4)])
    assert line.endswith("| learner on gpu-pc: 1.2 ms, clock -200.0 ms")
    assert status_line(PROGRESS, 20.0, None, None, [link(4.0)]).endswith("| NO ANSWER from learner on gpu-pc for 4 s")


def test_a_line_that_says_nothing_new_comes_again_after_a_while_only():
    now = [0.0]
    news = News(20.0, lambda: now[0])
    told = []
    for second, line in [(0, "a"), (2, "a"), (4, "b"), (6, "b"), (23, "b"), (24, "b"), (26, "a")]:
        now[0] = float(second)
        told += [(second, line)] if news.worth(line) else []
    assert told == [(0, "a"), (4, "b"), (24, "b"), (26, "a")]
