"""The fault matrix: each simulated fault in the middle of an episode of one running graph, in real time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import fault_rows
import pytest
from conftest import QUICK_LEARNER
from fault_cells import CELLS, SETTLING, Cell, Matrix, Outcome
from fault_session import Session, record, session

pytestmark = pytest.mark.idle

CHOSEN = os.environ.get("RLT_FAULTS", "")
"""Names of cells, by commas, to try those alone."""
MATRIX = [cell for cell in CELLS if not CHOSEN or str(cell) in CHOSEN.split(",")]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path) -> Iterator[dict[Cell, Outcome]]:
    """Every fault, one after the other, then what was recorded meanwhile."""
    measured: dict[Cell, Outcome] = {}
    with session(tmp_path_factory.mktemp("faults"), checkpoint, QUICK_LEARNER) as running:
        for cell in MATRIX:
            outcome = measured[cell] = Matrix(running.running()).measure(cell)
            outcome.run = str(running.runs[-1])
            print(outcome.row())
            if outcome.problem:
                print(running.graph.text[-3000:])
                running.abandon()
        if running.graph.process.poll() is None:
            assert running.end() == 0
        for outcome in measured.values():
            look_at_rows(running, outcome)
    record("faults", [outcome.row() for outcome in measured.values()])
    yield measured


def look_at_rows(running: Session, outcome: Outcome) -> None:
    """Count the rows of the phase of a fault, and say what is wrong with them."""
    run = Path(outcome.run)
    rows = running.rows(run)
    outcome.rows, outcome.wrong_rows = fault_rows.check(rows, running.times(run), outcome)
    outcome.wrong_rows += fault_rows.contiguous(rows)


@pytest.mark.parametrize("cell", MATRIX, ids=str)
class TestFault:
    """What is asked of every fault."""

    def test_the_arm_holds(self, cell: Cell, outcomes: dict[Cell, Outcome]) -> None:
        outcome = outcomes[cell]
        if not cell.holds:
            return
        assert outcome.commands <= outcome.allowed, outcome.row()
        if not cell.moved:
            assert outcome.motion <= outcome.allowed + SETTLING, outcome.row()
        assert outcome.driven <= outcome.allowed, outcome.row()

    def test_the_run_goes_on(self, cell: Cell, outcomes: dict[Cell, Outcome]) -> None:
        assert not outcomes[cell].problem
        assert outcomes[cell].recovered is not None

    def test_nothing_doubtful_is_recorded(self, cell: Cell, outcomes: dict[Cell, Outcome]) -> None:
        assert not outcomes[cell].wrong_rows
