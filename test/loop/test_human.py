"""When a person's command is not executed. Field report B41."""

from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.loop.human import HUMAN_TIMEOUT_NS, HumanCommand, doubt

NOW = 50_000_000_000
SECOND = 1_000_000_000
ZERO = np.zeros(7)


@pytest.mark.parametrize("age", [-SECOND, 0, HUMAN_TIMEOUT_NS])
def test_a_command_of_now_may_be_executed(age: int) -> None:
    assert doubt(HumanCommand(1, NOW - age, ZERO), NOW) == ""


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (None, "human: no command has come"),
        (HumanCommand(1, NOW, np.zeros(0)), "human: let go"),
        (HumanCommand(1, NOW - HUMAN_TIMEOUT_NS - 1_000_000, ZERO), "human: the command is 0.101 s old"),
        (HumanCommand(1, NOW + 2 * SECOND, ZERO), "human: the command's stamp lies 2.000 s ahead"),
        (HumanCommand(1, NOW, np.zeros(6)), "human: not 7 finite values: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]"),
        (HumanCommand(1, NOW, np.full(7, np.inf)), f"human: not 7 finite values: {[float('inf')] * 7}"),
        (HumanCommand(1, NOW, np.zeros((7, 1))), f"human: not 7 finite values: {[[0.0]] * 7}"),
    ],
)
def test_what_is_wrong_is_said(command: HumanCommand | None, text: str) -> None:
    assert doubt(command, NOW) == text
