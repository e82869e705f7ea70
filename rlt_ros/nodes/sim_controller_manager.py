"""The controller manager's services of the simulated robot, where controller_manager_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle_msgs.msg import State

from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.robot.config import Topics
from rlt_ros.sim.driver import ACTIVE, SimDriver

try:
    from controller_manager_msgs.msg import ControllerState
    from controller_manager_msgs.srv import ListControllers, SetHardwareComponentState, SwitchController
except ImportError:  # not every machine that simulates has ros2_control
    ControllerState = ListControllers = SetHardwareComponentState = SwitchController = None

_IDS = {ACTIVE: State.PRIMARY_STATE_ACTIVE}


class SimControllerManager:
    """Services around `sim.driver.SimDriver`; now: gives the robot time in s."""

    def __init__(self, node: BaseNode, topics: Topics, driver: SimDriver, now: Callable[[], float]) -> None:
        self._driver, self._now = driver, now
        if SwitchController is None:
            return
        serve = {
            (SetHardwareComponentState, topics.set_hardware_state): self._set_hardware,
            (SwitchController, topics.switch_controller): self._switch,
            (ListControllers, topics.list_controllers): self._list,
        }
        for (kind, name), answer in serve.items():
            node.create_service(kind, node.robot_topic(name), answer)

    def _set_hardware(self, request: Any, response: Any) -> Any:
        if request.target_state.label not in ("", ACTIVE):
            response.ok = False
            return response
        ok, label = self._driver.activate_hardware(request.name, self._now())
        response.ok = bool(ok)
        response.state = State(id=int(_IDS.get(label, State.PRIMARY_STATE_INACTIVE)), label=str(label))
        return response

    def _switch(self, request: Any, response: Any) -> Any:
        ok, message = self._driver.switch(request.activate_controllers, self._now())
        response.ok, response.message = bool(ok), str(message)
        return response

    def _list(self, request: Any, response: Any) -> Any:
        states = self._driver.controllers(self._now())
        response.controller = [ControllerState(name=str(name), state=str(state)) for name, state in states.items()]
        return response
