"""The tables of the fault matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.faults.report import fault_table, kill_table, put

FAULT = {
    "fault": "camera_gone/front",
    "seconds": 1.2,
    "holds": True,
    "end": 12.0,
    "commands": 0.1501,
    "motion": 0.3,
    "late": 0.012,
    "recovered": 0.05,
    "rows": {"before": 3, "after": 4, "doubtful": 0, "across": 0},
    "reasons": ["observation: a | b"],
    "problem": "",
}


def test_a_fault_is_one_line() -> None:
    line = fault_table([FAULT]).splitlines()[-1]
    assert line == ("| camera_gone/front 1.2 s | 0.15 | 0.30 | 0.01 | 3 before, 4 after | 0.05 | observation: a / b |")


def test_what_never_recovered_is_not_hidden() -> None:
    bad = FAULT | {"recovered": None, "problem": "40 s without", "rows": {"before": 1, "across": 2}}
    line = fault_table([bad]).splitlines()[-1]
    assert "| 1 before, 0 after, 2 during | - | 40 s without |" in line


def test_a_fault_without_a_hold_has_no_hold_time() -> None:
    assert "| jitter 1.2 s | - | - |" in fault_table([FAULT | {"fault": "jitter", "holds": False}])


def test_kills() -> None:
    kill = {"node": "actor", "commands": 0.1, "motion": 0.2, "late": 0.0, "returned": 1.5, "recovered": None, "rows": 7}
    assert kill_table([kill]).splitlines()[-1] == "| actor | 0.10 | 0.20 | 0.00 | 1.50 | - | 7 |"


def test_tables_are_put_between_their_marks() -> None:
    document = Path("docs/faults.md").read_text()
    once = put(document, "faults", "TABLE")
    assert "<!-- measured: faults -->\nTABLE\n<!-- end: faults -->" in once
    assert put(once, "faults", "TABLE") == once
    with pytest.raises(ValueError, match="measured: no"):
        put(document, "no", "TABLE")
