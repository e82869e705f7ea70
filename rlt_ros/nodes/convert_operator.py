"""The operator's status to its message and back."""

from __future__ import annotations

import math
from array import array
from typing import Any, get_type_hints

from rlt_ros import msg
from rlt_ros.nodes.convert import BadMessage, enum_member, header, stamp_of
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Driver, Label, Mode, Phase

_UNKNOWN = -1.0
_KINDS = get_type_hints(OperatorStatus)
_PLAIN = tuple(name for name, kind in _KINDS.items() if kind in (bool, int, float, str) and name != "stamp")
_TEXTS = tuple(name for name, kind in _KINDS.items() if kind == tuple[str, ...])
_OPTIONAL = tuple(name for name, kind in _KINDS.items() if kind == float | None)


def operator_status_to_message(status: OperatorStatus) -> msg.OperatorStatus:
    """OperatorStatus to rlt_ros/OperatorStatus."""
    return msg.OperatorStatus(
        header=header(status.stamp),
        phase=int(status.phase),
        mode=int(status.mode),
        driver=msg.OperatorStatus.NOBODY if status.driver is None else int(status.driver),
        labels=array("B", [int(label) for label in status.labels]),
        **{name: [str(text) for text in getattr(status, name)] for name in _TEXTS},
        **{name: _KINDS[name](getattr(status, name)) for name in _PLAIN},
        **{name: _known_or(getattr(status, name), _UNKNOWN) for name in _OPTIONAL},
    )


def operator_status_from_message(m: msg.OperatorStatus) -> OperatorStatus:
    """rlt_ros/OperatorStatus to OperatorStatus. Raises BadMessage naming the field and the value."""
    for name in (*_PLAIN, *_OPTIONAL):
        value = getattr(m, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise BadMessage(f"{name} is {value}; expected a finite number")
    optional = {name: getattr(m, name) for name in _OPTIONAL}
    return OperatorStatus(
        stamp=stamp_of(m.header),
        phase=enum_member(Phase, m.phase, "phase"),
        mode=enum_member(Mode, m.mode, "mode"),
        driver=None if m.driver == m.NOBODY else enum_member(Driver, m.driver, "driver"),
        labels=tuple(enum_member(Label, label, f"labels[{i}]") for i, label in enumerate(m.labels)),
        **{name: tuple(getattr(m, name)) for name in _TEXTS},
        **{name: getattr(m, name) for name in _PLAIN},
        **{name: None if value < 0.0 else value for name, value in optional.items()},
    )


def _known_or(value: float | None, unknown: float) -> Any:
    return unknown if value is None else float(value)
