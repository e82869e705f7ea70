"""The operator's status through real serialisation; the codes of requests are those of the services."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

pytest.importorskip("rlt_ros.msg", reason="the interfaces of rlt_ros are not built")
from rclpy.serialization import deserialize_message, serialize_message

from rlt_ros import msg, srv
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS
from rlt_ros.nodes.convert import BadMessage
from rlt_ros.nodes.convert_operator import operator_status_from_message, operator_status_to_message
from rlt_ros.operator.keys import REQUESTS
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Driver, Label, Mode, Phase

FULL = OperatorStatus(
    **{f.name: value for f in fields(OperatorStatus) for value in [f.default]}
    | {f.name: type(f.default)(7) for f in fields(OperatorStatus) if type(f.default) in (int, float, str)}
    | {f.name: True for f in fields(OperatorStatus) if isinstance(f.default, bool)}
    | {"phase": Phase.CRITICAL, "mode": Mode.RL, "driver": Driver.HUMAN, "labels": (Label.SUCCESS, Label.ABORT)}
    | {"success_rate": 0.5, "intervention_rate": 0.25, "seconds_since_label": 3.5, "warnings": ("a", "b")}
    | {"learner_silence": 0.5, "actor_silence": 0.75}
)


@pytest.mark.parametrize("status", [OperatorStatus(), FULL], ids=["empty", "full"])
def test_what_goes_out_comes_back(status: OperatorStatus) -> None:
    sent = serialize_message(operator_status_to_message(status))
    assert operator_status_from_message(deserialize_message(sent, msg.OperatorStatus)) == status


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("phase", 9, "phase is 9; expected one of"),
        ("driver", 17, "driver is 17; expected one of"),
        ("labels", [1, 8], r"labels\[1\] is 8; expected one of"),
        ("success_rate", math.nan, "success_rate is nan; expected a finite number"),
    ],
)
def test_a_message_that_cannot_be_is_refused_with_field_and_value(field: str, value: object, said: str) -> None:
    message = operator_status_to_message(FULL)
    setattr(message, field, value)
    with pytest.raises(BadMessage, match=said):
        operator_status_from_message(message)


def test_the_codes_of_requests_are_the_constants_of_the_services() -> None:
    names = {request: action for action, request in REQUESTS.items()} | {REQUESTS["stop"]: "hold"}
    for requests, kind in ((LABEL_REQUESTS, srv.LabelEpisode.Request), (MODE_REQUESTS, srv.SetPolicyMode.Request)):
        assert [getattr(kind, names[request].upper()) for request in requests] == list(range(len(requests)))
