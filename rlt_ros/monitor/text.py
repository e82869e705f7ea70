"""The state of a run in a line, as it stands over the robot in a viewer."""

from __future__ import annotations

from typing import Any

from rlt_ros.types import Driver, Mode, Phase

NOBODY = 255


def status_text(status: Any) -> str:
    """Of an `OperatorStatus` (any object with its fields): stage, phase and step, who was asked for, who drives, why it
    holds.
    """
    driver = "nobody" if status.driver == NOBODY else Driver(status.driver).name
    lines = [
        f"{status.stage}: {Phase(status.phase).name}, step {status.phase_steps}",
        f"asked for {Mode(status.mode).name}, {driver} drives",
    ]
    if status.hold_reason:
        lines.append(f"holds: {status.hold_reason}")
    return "\n".join(lines)
