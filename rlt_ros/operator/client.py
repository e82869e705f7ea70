"""What a view needs of the graph: the newest status, and a way to press."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from rlt_ros.loop.requests import Answer, Request
from rlt_ros.operator.status import OperatorStatus

STALE = 1.0
"""s after which a status, sent five times a second, counts as old."""


@dataclass(frozen=True)
class Received:
    """A status and how long ago it came [s]."""

    status: OperatorStatus
    age: float


class Client(Protocol):
    """The way to one `teleop` node. No call may block."""

    @property
    def where(self) -> str:
        """Name of the status topic, with its namespace."""

    def newest(self) -> Received | None:
        """The newest status, None before the first."""

    def press(self, request: Request) -> Future[Answer]:
        """Ask for something. The future may never be done: whoever waits for it sets a limit."""


def silence(received: Received | None, where: str, waited: float) -> str:
    """What to say of a `teleop` node that is not there or not heard, empty if it is.

    waited: seconds since the view was opened.
    """
    if received is not None:
        return f"NO WORD FROM TELEOP for {received.age:.1f} s" if received.age > STALE else ""
    return f"NO TELEOP: nothing on {where} for {waited:.1f} s" if waited > STALE else ""
