"""The policy switch while demonstrations are recorded: the services of `teleop`, and no policy behind them."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from rlt_ros.loop.collection import CollectionConfig, CollectionSession, RecordingGate, closed, status_line
from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.nodes import qos
from rlt_ros.nodes.collect_status import status_from_message
from rlt_ros.nodes.demonstrating import DemonstratingPerson
from rlt_ros.nodes.parameters import declare_dataclass
from rlt_ros.nodes.runtime import run
from rlt_ros.nodes.teleop import TeleopNode
from rlt_ros.operator.board import StatusBoard


class CollectTeleopNode(TeleopNode):
    """Begin starts a demonstration, a label ends it; begin is refused while the collector cannot record."""

    def make_conductor(self) -> Conductor:
        config = declare_dataclass(self, CollectionConfig)
        self.gate = RecordingGate()
        self.listen(DiagnosticStatus, "collector_status", self._on_collector, qos.LATCHED)
        machine = PhaseMachine(closed, objection=self.gate.objection)
        return Conductor(machine, CollectionSession(config), self.make_starts())

    def make_board(self) -> StatusBoard:
        return StatusBoard(self.conductor, self.control_rate, closed, learns=False)

    def warnings(self) -> list[str]:
        status = self.gate.status
        if status is None:
            return ["no word from the collector yet"]
        return [f"NOT RECORDING: {status.failure}"] if status.failure else []

    def make_person(self) -> DemonstratingPerson:
        return DemonstratingPerson(self, self.robot, self.conductor.session.config.seed)

    def _on_collector(self, message: DiagnosticStatus) -> None:
        self.gate.status = status_from_message(message)
        self.go_on()

    def status_line(self) -> str:
        machine = self.conductor.machine
        return status_line(self.gate.status, machine.phase.name, machine.mode.name)


def main() -> None:
    """Entry point."""
    run(CollectTeleopNode)
