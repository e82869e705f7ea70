"""The kill matrix: SIGKILL of each node in the middle of an episode of one running graph, in real time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import fault_rows
import pytest
from conftest import QUICK_LEARNER
from fault_cells import SETTLING
from fault_session import Session, record, session
from kill_cells import KEEPS_DRIVING, RETURNING, Killed, kill, repeated

pytestmark = pytest.mark.idle

CHOSEN = os.environ.get("RLT_FAULTS", "")
NODES = [n for n in ("learner", *RETURNING) if not CHOSEN or n in CHOSEN.split(",")]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path) -> Iterator[dict[str, Killed]]:
    """Every node, one after the other; then the simulator, with which the run ends; then what was recorded."""
    killed: dict[str, Killed] = {}
    with session(tmp_path_factory.mktemp("kills"), checkpoint, QUICK_LEARNER) as running:
        for name in NODES:
            outcome = killed[name] = kill(running, name)
            print(outcome.row(), flush=True)
            if outcome.problem:
                print(running.graph.text[-3000:], flush=True)
                running.abandon()
        settle(running)
        killed["sim"] = end_with_the_robot(running)
        for run in running.runs:
            look_at_rows(running, run, killed)
    record("kills", [outcome.row() for outcome in killed.values()])
    yield killed


def settle(running: Session) -> None:
    """Wait for the rows of the last phase: sent again after some seconds if their learner was away."""
    if running.graph.process.poll() is not None:
        return
    settled = running.watch.now + 5.0
    running.watch.wait(lambda: running.watch.now > settled, 120, "the last rows")


def look_at_rows(running: Session, run: Path, killed: dict[str, Killed]) -> None:
    """Count the rows of each phase, and see that none was lost on its way or came twice."""
    rows = running.rows(run)
    wrong = fault_rows.contiguous(rows) + repeated(rows) + [f"row {r.id}" for r in rows if not fault_rows.finite(r)]
    assert not wrong, wrong
    for outcome in killed.values():
        if outcome.run == str(run):
            outcome.rows = sum(row.phase_id == outcome.phase_id for row in rows)


def end_with_the_robot(running: Session) -> Killed:
    """Without the simulated robot there is no run; what was recorded stays."""
    watch, outcome = running.running(), Killed(node="sim")
    outcome.start = watch.now
    running.graph.node("sim").send_signal(signal.SIGKILL)
    assert running.graph.end() == 1
    assert "sim failed with exit code -9" in running.graph.text
    return outcome


@pytest.mark.parametrize("name", NODES)
class TestKill:
    """What is asked of every node."""

    def test_the_arm_holds(self, name: str, outcomes: dict[str, Killed]) -> None:
        outcome = outcomes[name]
        if name in KEEPS_DRIVING:
            return
        assert outcome.commands <= outcome.allowed, outcome.row()
        assert outcome.motion <= outcome.allowed + SETTLING, outcome.row()

    def test_the_run_goes_on(self, name: str, outcomes: dict[str, Killed]) -> None:
        assert not outcomes[name].problem
        assert outcomes[name].recovered is not None

    def test_what_was_driven_before_is_recorded(self, name: str, outcomes: dict[str, Killed]) -> None:
        outcome = outcomes[name]
        # The actor alone knew the steps of the phase under way, features alone what most of its windows need.
        if name not in ("actor", "features") and outcome.has_rows:
            assert outcome.rows > 0, outcome.row()


def test_the_run_ends_with_its_robot(outcomes: dict[str, Killed]) -> None:
    assert not outcomes["sim"].problem
