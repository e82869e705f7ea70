"""What the operator's tests share: a client without ROS, a clock that is set by hand, the preset of the keys."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

from rlt_ros.loop.requests import Answer, Request
from rlt_ros.operator.client import Received
from rlt_ros.operator.status import OperatorStatus

PRESET = Path(__file__).parents[2] / "config" / "operator" / "keys.yaml"


class Clock:
    """Seconds, set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class MemoryClient:
    """Answers from a table; what is not in it is never answered."""

    where = "/rlt/operator_status"

    def __init__(self, status: OperatorStatus | None = None) -> None:
        self.status, self.age = status, 0.1
        self.pressed: list[Request] = []
        self.answers = {request: Answer(True, "done") for request in Request}

    def newest(self) -> Received | None:
        return None if self.status is None else Received(self.status, self.age)

    def press(self, request: Request) -> Future[Answer]:
        self.pressed.append(request)
        future: Future[Answer] = Future()
        if request in self.answers:
            future.set_result(self.answers[request])
        return future

    def change(self, **values: object) -> None:
        self.status = replace(self.status, **values)
