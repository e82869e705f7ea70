"""The faults of the matrix, each put to a running graph in the middle of a critical phase."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from fault_watch import DRIVEN, Measured, Watch
from geometry_msgs.msg import PoseStamped
from std_srvs.srv import Trigger

from rlt_ros import srv
from rlt_ros.nodes import qos

SERVICE, LABEL, RECOVER, TARGET = "/sim/fault", "/rlt/label_episode", "/rlt/recover", "/target_pose"
SETTLING = 0.5
"""s that the compliant arm needs to come to rest at its last target once that moves no more."""


EDGE = 0.06
"""s before the end of a fault in which the executor may have seen its end: its state is newer than the observation."""


@dataclass(frozen=True)
class Cell:
    """One fault. seconds: 0 until the operator has called `recover`, half a second later. first: s after its start at
    which it shows: when the first message that it concerns was due. holds: the arm must stand until it is over. moved:
    the fault itself moves the arm. slow: s that the error_recovery action takes. notice: s that it may take to be
    noticed where the arm stands by itself. afterwards: the operator calls `recover` when the fault is over. jumps: only
    its beginning and its end are faults, over neither of which a row may go.
    """

    kind: str
    seconds: float = 1.2
    target: str = ""
    value: float = 0.0
    first: float = 0.01
    holds: bool = True
    moved: bool = False
    slow: float = 0.0
    notice: float = 0.0
    afterwards: bool = False
    jumps: bool = False
    name: str = ""

    def __str__(self) -> str:
        return self.name or "/".join(filter(None, (self.kind, self.target)))


AGAIN = 3.0
"""s after which a press without an answer is repeated."""
ROWS_AFTER = 16
"""Driven steps in a row after which a phase has rows: chunks have 10."""
CAMERA_PERIOD = 0.03
CELLS = (
    Cell("reflex"),
    Cell("reflex", seconds=0.0, name="reflex, recovered by the operator"),
    Cell("reflex", seconds=0.0, slow=16.0, name="reflex, recovery takes 16 s"),
    Cell("user_stop"),
    Cell("guiding", moved=True),
    Cell("controller_gone"),
    Cell("not_following", seconds=5.0, notice=3.0, afterwards=True),
    Cell("wrench_spike"),
    Cell("state_nan", target="current_pose"),
    Cell("state_nan", target="joint_states"),
    Cell("state_nan", target="external_wrench"),
    Cell("state_nan", target="gripper_joint_states"),
    Cell("state_lost"),
    Cell("state_lost", target="joint_states"),
    Cell("state_lost", target="current_pose"),
    Cell("state_lost", target="external_wrench"),
    Cell("state_lost", target="gripper_joint_states"),
    Cell("state_lost", target="robot_state"),
    Cell("camera_gone", target="front", first=CAMERA_PERIOD),
    Cell("camera_repeated", target="wrist", first=CAMERA_PERIOD),
    Cell("camera_frozen", target="front", first=CAMERA_PERIOD),
    Cell("camera_black", target="wrist", first=CAMERA_PERIOD),
    Cell("latency", value=0.3, first=CAMERA_PERIOD),
    Cell("jitter", value=0.06, holds=False),
    Cell("gripper_stuck", holds=False),
    Cell("clock_jump", value=10.0, holds=False, jumps=True, name="clock_jump forwards"),
    Cell("clock_jump", value=-10.0, holds=False, jumps=True, name="clock_jump backwards"),
    Cell("clock_stopped"),
    Cell("second_publisher"),
)


@dataclass(kw_only=True)
class Outcome(Measured):
    """Of a fault; recovered counts from its end. held: robot times of the steps that were held."""

    cell: Cell
    episode: int = 0
    held: list[float] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    wrong_rows: list[str] = field(default_factory=list)

    @property
    def allowed(self) -> float:
        return super().allowed + self.cell.notice

    def row(self) -> dict[str, Any]:
        """For the table."""
        cell = {"fault": str(self.cell), "seconds": self.cell.seconds, "holds": self.cell.holds}
        return cell | {name: value for name, value in asdict(self).items() if name != "cell"}


class Matrix:
    """Puts faults to a graph. seconds: how long to wait for anything."""

    def __init__(self, watch: Watch, seconds: float = 40.0) -> None:
        self._watch, self._seconds = watch, seconds
        self._fault_client = watch.listener.node.create_client(srv.SimFault, SERVICE)
        self._recover_client = watch.listener.node.create_client(Trigger, RECOVER)
        self._label_client = watch.listener.node.create_client(srv.LabelEpisode, LABEL)

    def measure(self, cell: Cell) -> Outcome:
        """Wait for a good moment, bring the fault about, see what comes of it."""
        watch, outcome = self._watch, Outcome(cell=cell)
        try:
            self.wait_for_phase(str(cell))
            with self._fault(cell):
                self._follow(outcome, cell)
            watch.wait(lambda: watch.driving(outcome.end, 3, phase=False), self._seconds, f"driven steps after {cell}")
            outcome.recovered = (
                min(s.at for s in watch.steps if s.at > outcome.end and s.driver in DRIVEN) - outcome.end
            )
            self.label(srv.LabelEpisode.Request.FAILURE)
        except AssertionError as error:
            outcome.problem = str(error).splitlines()[0]
        self._judge(outcome)
        return outcome

    def wait_for_phase(self, what: str) -> bool:
        """Wait for a phase that has rows already; on a machine too slow for that, for one that is driven at all.
        Whether it has rows.
        """
        watch, patience = self._watch, self._watch.now + 15.0
        rows = lambda: watch.driving(watch.now - 1.0, ROWS_AFTER)  # noqa: E731
        any_phase = lambda: watch.now > patience and watch.driving(watch.now - 0.5, 6)  # noqa: E731
        watch.wait(lambda: rows() or any_phase(), 2 * self._seconds, f"a driven phase before {what}")
        return rows()

    @contextmanager
    def _fault(self, cell: Cell) -> Iterator[None]:
        if cell.kind == "second_publisher":
            publisher = self._watch.listener.node.create_publisher(PoseStamped, TARGET, qos.COMMAND)
            try:
                yield
            finally:
                self._watch.listener.node.destroy_publisher(publisher)
            return
        if cell.slow:
            self.ask("slow_recovery", 0.0, value=cell.slow)
        self.ask(cell.kind, cell.seconds, cell.target, cell.value)
        yield
        self.ask("none", 0.0)

    def ask(self, kind: str, seconds: float, target: str = "", value: float = 0.0) -> None:
        """Call the simulator's service."""
        request = srv.SimFault.Request(kind=kind, target=target, seconds=seconds, value=value)
        answer = self._call(self._fault_client, request)
        assert answer.success, answer.message

    def label(self, label: int) -> None:
        """End the critical phase as its operator would; one that has ended already is left as it is.

        He presses again if nothing happens: a teleop that was just started may not have been found yet.
        """
        request = srv.LabelEpisode.Request(label=label)
        answers = [self._label_client.call_async(request)]
        again = self._watch.now + AGAIN

        def answered() -> bool:
            nonlocal again
            if self._watch.now > again:
                answers.append(self._label_client.call_async(request))
                again = self._watch.now + AGAIN
            return any(answer.done() for answer in answers)

        self._watch.wait(answered, self._seconds, f"an answer of {LABEL}")

    def _call(self, client: Any, request: Any) -> Any:
        answer = client.call_async(request)
        self._watch.wait(answer.done, 10, f"an answer of {client.srv_name}")
        return answer.result()

    def _follow(self, outcome: Outcome, cell: Cell) -> None:
        watch = self._watch
        word = watch.word
        outcome.episode, outcome.phase_id = word.episode, word.phase_id
        if cell.kind == "second_publisher":
            outcome.start, outcome.end = watch.now, watch.now + cell.seconds
            watch.wait(lambda: watch.now >= outcome.end, self._seconds, "the end of the fault")
            return
        count = len(watch.instants)
        # What a recovery has still to do shows as a fault of its own.
        there = lambda i: any(not f.startswith("slow_recovery") for f in i.faults)  # noqa: E731
        since = lambda: watch.instants[max(0, count - 50) :]  # noqa: E731
        watch.wait(lambda: any(map(there, since())), 10, f"{cell} in what the simulator says")
        outcome.start = next(i.at for i in since() if there(i)) - 0.01 + cell.first
        if not cell.seconds:
            watch.wait(lambda: watch.now > outcome.start + 0.5, 10, "half a second")
            self._recover()
        watch.wait(lambda: not there(watch.instants[-1]), self._seconds, f"the end of {cell}")
        outcome.end = next(i.at for i in watch.instants if i.at > outcome.start + 0.05 and not there(i))
        if cell.afterwards:
            self._recover()

    def _recover(self) -> None:
        answer = self._call(self._recover_client, Trigger.Request())
        assert answer.success, answer.message

    def _judge(self, outcome: Outcome) -> None:
        watch, start, end = self._watch, outcome.start, outcome.end
        outcome.judge(watch, end - EDGE)
        outcome.held = [s.at for s in watch.steps if start - 0.1 <= s.at < end + 0.6 and s.driver not in DRIVEN]
        outcome.reasons = sorted({s.reason for s in watch.steps if start <= s.at < end + 0.2 and s.reason})[:4]
