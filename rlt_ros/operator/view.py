"""The status as lines of text; a view only has to give them colours."""

from __future__ import annotations

from rlt_ros.loop.report import TITLES
from rlt_ros.loop.requests import Answer
from rlt_ros.loop.session import DONE, PRACTICE
from rlt_ros.operator.keys import REQUESTS
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Driver, Label, Mode, Phase

Part = tuple[str, str]
"""A text and its mood: one of MOODS. No mood says what the words do not."""
MOODS = ("", "dim", "strong", "good", "warn", "bad")
Line = list[Part]

_LETTERS = {Label.SUCCESS: ("S", "good"), Label.FAILURE: ("F", "bad"), Label.ABORT: ("A", "warn")}
_NAME = 9


def tiles(status: OperatorStatus) -> dict[str, Line]:
    """The four words that are read from a distance: phase, mode, drives, episode."""
    return {
        "phase": [_phase(status)],
        "mode": [(status.mode.name, "warn" if status.mode is Mode.HOLD else "strong")],
        "drives": [_driver(status)],
        "episode": [(str(status.episode), "strong"), *_remark(status)],
    }


def _phase(status: OperatorStatus) -> Part:
    if status.phase is Phase.CRITICAL:
        return f"CRITICAL {status.phase_id}", "good"
    if status.mode is Mode.RESET:
        return "RESET", "warn"
    return status.phase.name, "strong"


def _driver(status: OperatorStatus) -> Part:
    if status.driver is None:
        return "NOBODY YET", "dim"
    moods = {Driver.HOLD: "warn", Driver.RESET: "warn"}
    return status.driver.name, moods.get(status.driver, "good")


def _remark(status: OperatorStatus) -> Line:
    if status.evaluation:
        return [(" evaluation, helped: repeated", "bad")] if status.intervened else [(" evaluation", "dim")]
    return [(" PAUSE", "warn")] if status.paused else []


def session(status: OperatorStatus) -> list[Line]:
    """Stage and progress, robot time, labels."""
    rows = [
        _row("stage", _stage(status)),
        _row("episodes", _of(status.stage_episodes, status.stage_episodes_wanted)),
        _row("robot", f"{status.robot_minutes:.1f} min", "", f", {status.phase_steps} steps in this phase"),
        *([_row("starts", f"{status.start_poses} saved", "warn")] if status.start_poses else []),
        [("last 20  ", "dim"), *(_LETTERS.get(label, ("?", "warn")) for label in status.labels)],
        _row("success", _percent(status.success_rate), "strong", f"   helped {_percent(status.intervention_rate)}"),
        _since_label(status),
    ]
    return rows


def _stage(status: OperatorStatus) -> str:
    if status.finished or status.stage == DONE:
        return "done"
    if status.stage == PRACTICE:
        return f"practice {status.practice_minutes:.1f} of {status.practice_minutes_wanted:.1f} min"
    return f"evaluating {TITLES[status.stage]}" if status.stage in TITLES else status.stage


def _since_label(status: OperatorStatus) -> Line:
    since = "none yet" if status.seconds_since_label is None else f"{duration(status.seconds_since_label)} ago"
    line = _row("label", since)
    if status.failure_streak > 1:
        line.append((f"   {status.failure_streak} FAILURES IN A ROW", "bad"))
    return line


def learning(status: OperatorStatus) -> list[Line]:
    """Rows, updates, weights, gate, robot."""
    debt = f" (+{status.update_debt} due)" if status.update_debt else ""
    weights = f"v{status.weights_version}, {duration(status.weights_age)} old" if status.weights_version else "none yet"
    gate = ("open", "good") if status.gate_open else (f"closed: {status.gate_reason}", "warn")
    arm = (status.robot_mode or "mode not known") + (", needs recovery" if status.recovery else "")
    return [
        _row("rows", str(status.rows)),
        _row("updates", f"{status.updates}{debt}"),
        _row("weights", weights),
        _row("gate", *gate),
        _row("arm", arm, "bad" if status.recovery else ""),
        _row("holds", "yes, see below" if status.hold_reason else "no", "warn" if status.hold_reason else ""),
    ]


def devices(status: OperatorStatus | None) -> Line:
    """Input devices that can be used, each with what it says."""
    live = "   ".join(status.devices) if status is not None else ""
    return [(live or "no input device", "good" if live else "dim")]


def hints(card: list[tuple[str, str, str]], width: int) -> list[Line]:
    """Keys and actions in lines of at most `width` characters, none broken."""
    lines: list[Line] = [[]]
    for keys, action, _ in card:
        used = sum(len(text) for text, _ in lines[-1])
        if used and used + len(keys) + len(action) + 1 > width:
            lines.append([])
        lines[-1] += [(keys, "strong"), (f" {action}  ", "dim")]
    return lines


def warnings(status: OperatorStatus) -> list[Line]:
    """Why the arm holds, then what else the operator should know, then advice, one line each."""
    reason = [[(f"the arm holds: {status.hold_reason}", "bad" if status.recovery else "warn")]]
    lines = (reason if status.hold_reason else []) + [[(f"! {text}", "bad")] for text in status.warnings]
    lines += [[(f"- {text}", "")] for text in status.hints]
    return lines or [[("none", "dim")]]


def answer_text(action: str, answer: Answer) -> str:
    """An answer in the words of the keys: `RL refused: the gate is closed: 212 of 512 rows`."""
    name = action.upper() if action in ("vla", "rl") else action
    text = answer.message
    for said in (REQUESTS[action].value if action in REQUESTS else action, f"mode_{action}", action, name):
        text = text.removeprefix(f"{said}: ")
    return f"{name}: {text}" if answer.accepted else f"{name} refused: {text}"


def last_answer(status: OperatorStatus) -> str:
    """The last answer that teleop gave, to whomever; empty before the first."""
    if not status.answers:
        return ""
    action = next((name for name, request in REQUESTS.items() if request == status.request), status.request)
    ago = duration(max(0.0, (status.stamp - status.answer_stamp) / 1e9))
    return f"{ago} ago to anyone: {answer_text(action, Answer(status.accepted, status.answer))}"


def duration(seconds: float) -> str:
    """Seconds for people: 4.2 s, 42 s, 3 min 10 s, 2 h 5 min."""
    if seconds < 60.0:
        return f"{seconds:.1f} s" if seconds < 10.0 else f"{int(seconds)} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _row(name: str, value: str, mood: str = "", more: str = "") -> Line:
    line = [(f"{name:<{_NAME}}", "dim"), (value, mood)]
    return [*line, (more, "dim")] if more else line


def _of(count: int, wanted: int) -> str:
    return f"{count} of {wanted}" if wanted else str(count)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.0f} %"
