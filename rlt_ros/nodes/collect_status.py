"""The collector's status as the standard diagnostic message: for teleop, and for whoever watches /diagnostics."""

from __future__ import annotations

from dataclasses import asdict, fields

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from rlt_ros.loop.collection import CollectorStatus
from rlt_ros.nodes.convert import BadMessage


def status_to_message(status: CollectorStatus, folder: str) -> DiagnosticStatus:
    """diagnostic_msgs/DiagnosticStatus; an error while nothing can be recorded."""
    level = DiagnosticStatus.ERROR if status.failure else DiagnosticStatus.OK
    values = [KeyValue(key=key, value=str(value)) for key, value in asdict(status).items()]
    text = status.failure or f"{status.saved} demonstrations saved"
    return DiagnosticStatus(level=level, name="rlt: collector", message=text, hardware_id=folder, values=values)


def status_from_message(m: DiagnosticStatus) -> CollectorStatus:
    """The inverse of `status_to_message`. Raises BadMessage naming the key that is missing or no number."""
    values = {pair.key: pair.value for pair in m.values}
    try:
        return CollectorStatus(**{f.name: type(f.default)(values[f.name]) for f in fields(CollectorStatus)})
    except (KeyError, ValueError) as error:
        raise BadMessage(f"collector_status: {error}; it has {values}") from error
