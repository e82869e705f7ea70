"""Recovery of the robot by its own actions and services; `robot.recovery` decides what is done when."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from action_msgs.msg import GoalStatus
from lifecycle_msgs.msg import State
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.task import Future
from std_srvs.srv import Trigger

from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.nodes.side import Side
from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.recovery import RecoveryMachine, RecoveryStep

try:
    from franka_msgs.action import ErrorRecovery
except ImportError:  # no binary release for every distribution
    ErrorRecovery = None
try:
    from controller_manager_msgs.srv import ListControllers, SetHardwareComponentState, SwitchController
except ImportError:
    ListControllers = SetHardwareComponentState = SwitchController = None

PERIOD = 0.1
"""s between two looks at what is due."""
Answer = Callable[[bool, str], None]
Make = Callable[[Any], Any]
Done = Callable[[Any], None]


class RecoveryClient:
    """The service `recover`, by which the operator confirms, and the three steps, begun here and done in the side
    thread. Nothing waits: the control step goes on holding, however long a step takes."""

    def __init__(self, node: BaseNode, side: Side, robot: RobotConfig, machine: RecoveryMachine) -> None:
        self._node, self._side, self._machine, self._config = node, side, machine, robot.recovery
        self._answers: SimpleQueue[tuple[RecoveryStep, bool, str]] = SimpleQueue()
        topics = robot.topics
        self._clear = None
        if ErrorRecovery is not None:
            self._clear = ActionClient(side.node, ErrorRecovery, node.robot_topic(topics.error_recovery))
        self._hardware = self._client(SetHardwareComponentState, topics.set_hardware_state)
        self._switch = self._client(SwitchController, topics.switch_controller)
        self._list = self._client(ListControllers, topics.list_controllers)
        self._begin = {
            RecoveryStep.CLEAR_ERRORS: self._clear_errors,
            RecoveryStep.ACTIVATE_HARDWARE: self._activate_hardware,
            RecoveryStep.ACTIVATE_CONTROLLERS: self._activate_controllers,
        }
        node.create_service(Trigger, "recover", self._on_confirm)
        node.every(PERIOD, self.step)

    def step(self) -> None:
        """Go on with what is due; the owner's thread alone touches the state machine."""
        while not self._answers.empty():
            self._machine.finished(*self._answers.get())
        due = self._machine.due(time.monotonic_ns())
        if due is not None:
            self._side.post(lambda: self._begin[due](lambda ok, message: self._answers.put((due, ok, message))))
        for line in self._machine.news():
            self._node.get_logger().warning(line)

    def _client(self, kind: type | None, name: str) -> Client | None:
        return None if kind is None else self._side.node.create_client(kind, self._node.robot_topic(name))

    def _on_confirm(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        ok, message = self._machine.confirm()
        response.success, response.message = bool(ok), str(message)
        return response

    # the steps, in the side thread

    def _clear_errors(self, answer: Answer) -> None:
        if self._clear is None:
            answer(False, "franka_msgs is not installed; recover in the robot's own interface (Desk)")
        elif not self._clear.server_is_ready():
            answer(False, "the error_recovery action has no server; before franka_ros2 2.4 relaunch the driver")
        else:
            sent = self._clear.send_goal_async(ErrorRecovery.Goal())
            sent.add_done_callback(lambda future: self._cleared(future, answer))

    @staticmethod
    def _cleared(future: Future, answer: Answer) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            answer(False, "the goal was refused")
            return

        def ended(done: Future) -> None:
            status = done.result().status
            answer(status == GoalStatus.STATUS_SUCCEEDED, f"goal status {status}")

        handle.get_result_async().add_done_callback(ended)

    def _activate_hardware(self, answer: Answer) -> None:
        name, active = self._config.hardware, State(id=State.PRIMARY_STATE_ACTIVE, label="active")

        def done(response: Any) -> None:
            answer(bool(response.ok), f"{name} is {response.state.label or 'unknown to the controller manager'}")

        def request(kind: Any) -> Any:
            return kind.Request(name=name, target_state=active)

        self._call(SetHardwareComponentState, self._hardware, request, done, answer)

    def _activate_controllers(self, answer: Answer) -> None:
        def switched(response: Any) -> None:
            said = getattr(response, "message", "")  # not on Humble
            if response.ok:
                self._call(ListControllers, self._list, lambda kind: kind.Request(), listed, answer)
            else:
                answer(False, said or "the controller manager refused to switch")

        def listed(response: Any) -> None:
            states = {c.name: c.state for c in response.controller}
            wrong = [
                f"{n} is {states.get(n, 'not loaded')}" for n in self._config.controllers if states.get(n) != "active"
            ]
            answer(not wrong, ", ".join(wrong))

        def request(kind: Any) -> Any:
            # Best effort: one that is active already is no mistake, and the list below says what came of it.
            names = list(self._config.controllers)
            return kind.Request(activate_controllers=names, strictness=kind.Request.BEST_EFFORT)

        self._call(SwitchController, self._switch, request, switched, answer)

    @staticmethod
    def _call(
        kind: type | None,
        client: Client | None,
        make: Callable[[Any], Any],
        done: Callable[[Any], None],
        answer: Answer,
    ) -> None:
        if client is None:
            answer(False, "controller_manager_msgs is not installed; use ros2 control on the robot's machine")
        elif not client.service_is_ready():
            answer(False, f"{client.srv_name} has no server; is the controller manager running?")
        else:
            client.call_async(make(kind)).add_done_callback(lambda future: done(future.result()))
