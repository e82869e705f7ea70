"""The three steps over DDS, against the simulated robot's own services: field reports C01, C03, A36."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("franka_msgs.action", reason="franka_msgs is not built here")
pytest.importorskip("controller_manager_msgs.srv", reason="controller_manager_msgs is not built here")
import rclpy
from franka_msgs.action import ErrorRecovery
from graph import new_domain
from rclpy.action import ActionServer
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from rlt_ros.nodes.recovery import RecoveryClient
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.nodes.side import Side
from rlt_ros.nodes.sim_controller_manager import SimControllerManager
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.recovery import RecoveryMachine
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.sim.driver import SimDriver
from rlt_ros.sim.fault_effects import FaultyRobot
from rlt_ros.sim.faults import FaultSchedule

ROBOT = load_robot()


class Robot:
    """The simulated robot's driver: its schedule of faults, its services, its action, in a thread of their own."""

    def __init__(self, domain: int) -> None:
        self.began = time.monotonic()
        self.schedule = FaultSchedule(["front"])
        self.driver = SimDriver(ROBOT.recovery, self.schedule)
        self.faulty = FaultyRobot(self.schedule)
        self.recovery_seconds = 0.0
        self.recoveries = 0
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = BaseNode("sim", context=self._context)
        SimControllerManager(self._node, ROBOT.topics, self.driver, self.now)
        self._action = ActionServer(self._node, ErrorRecovery, f"/{ROBOT.topics.error_recovery}", self._recover)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def now(self) -> float:
        return time.monotonic() - self.began

    def state(self) -> RobotState:
        self.faulty.advance(self.now())
        zeros, stamp = np.zeros(3), time.monotonic_ns()
        good = RobotState(stamp, ROBOT.reference, np.zeros(7), np.zeros(7), zeros, zeros, 0.02, RobotMode.MOVE)
        return self.faulty.state(good)

    def close(self) -> None:
        self._closed.set()
        self._thread.join(5.0)
        self._executor.shutdown(1.0)
        self._action.destroy()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _spin(self) -> None:
        while not self._closed.is_set():
            self._executor.spin_once(timeout_sec=0.1)

    def _recover(self, goal: object) -> ErrorRecovery.Result:
        self.recoveries += 1
        time.sleep(self.recovery_seconds)
        self.driver.clear_errors(self.now())
        goal.succeed()
        return ErrorRecovery.Result()


class Place:
    """An executor's recovery in a node that is spun here, and a robot to recover."""

    def __init__(self, confirm: bool = True, timeout: float = 30.0) -> None:
        self.domain = new_domain()
        self._context = Context()
        rclpy.init(context=self._context, domain_id=self.domain)
        self.node = BaseNode("executor", context=self._context, namespace="rlt")
        self.side = Side(self.node, "side")
        changed = replace(ROBOT.recovery, confirm=confirm, timeout=timeout, pause=0.2, attempts=2)
        self.machine = RecoveryMachine(changed)
        self.client = RecoveryClient(self.node, self.side, replace(ROBOT, recovery=changed), self.machine)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.robot: Robot | None = None
        self.longest = 0.0
        self.said: list[str] = []
        news = self.machine.news
        self.machine.news = lambda: self.said.extend(told := news()) or told

    def connect(self) -> None:
        self.robot = Robot(self.domain)
        clients = (self.client._hardware, self.client._switch, self.client._list, self.client._clear)
        ready = [getattr(c, "service_is_ready", None) or c.server_is_ready for c in clients]
        self.wait(lambda: all(check() for check in ready), "the robot's services")

    def wait(self, condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
        """Spin as an executor does, a control step every 50 ms, until something holds."""
        end, due = time.monotonic() + seconds, time.monotonic()
        while not condition():
            assert time.monotonic() < end, f"{seconds} s without {what}; {self.machine.reason}; {self.said}"
            if self.robot is not None and time.monotonic() >= due:
                self.machine.observe(self.robot.state())
                due = time.monotonic() + 0.05
            began = time.thread_time()
            self._executor.spin_once(timeout_sec=0.02)
            self.longest = max(self.longest, time.thread_time() - began)

    def confirm(self) -> Trigger.Response:
        client = self.node.create_client(Trigger, "/rlt/recover")
        self.wait(client.service_is_ready, "the service recover")
        future = client.call_async(Trigger.Request())
        self.wait(future.done, "an answer of recover")
        return future.result()

    def close(self) -> None:
        if self.robot is not None:
            self.robot.close()
        self.side.close()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)


@pytest.fixture()
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    made = Place(**getattr(request, "param", {}))
    yield made
    made.close()


def reflex(place: Place) -> None:
    place.robot.schedule.begin("reflex", 0.0, 0.0, "", place.robot.now())
    place.wait(lambda: place.machine.reason, "the fault")


def test_the_operator_s_word_brings_the_robot_back_in_three_steps(place: Place) -> None:
    place.connect()
    assert (place.confirm().success, place.machine.reason) == (False, "")
    reflex(place)
    place.wait(lambda: True, "")
    assert place.robot.recoveries == 0, "it waits to be told"
    answer = place.confirm()
    assert answer.success and "recovery begins: the robot is in REFLEX" in answer.message
    place.wait(lambda: not place.machine.reason, "recovery")
    steps = [line for line in place.said if line.endswith(": done")]
    assert [line.split(": ")[1] for line in steps] == [
        "error_recovery", "activating the hardware", "activating the controllers",
    ]  # fmt: skip
    assert place.robot.state().mode is RobotMode.MOVE and place.robot.recoveries == 1


def test_slow_recovery_is_waited_for_without_blocking_a_control_step(place: Place) -> None:
    """C03, A36; 16 s on the robot, 3 s here."""
    place.connect()
    place.robot.recovery_seconds = 3.0
    reflex(place)
    place.longest = 0.0
    place.confirm()
    assert not place.confirm().success
    place.wait(lambda: not place.machine.reason, "recovery")
    assert place.robot.recoveries == 1
    assert place.longest < 0.5, "processor time of the longest callback"


@pytest.mark.parametrize("place", [{"timeout": 1.0}], indirect=True)
def test_a_robot_that_gives_no_answer_is_named_and_asked_no_more(place: Place) -> None:
    place.connect()
    place.robot.recovery_seconds = 4.0
    reflex(place)
    place.confirm()
    place.wait(lambda: "no answer within 1 s" in place.machine.reason, "the time-out")
    place.wait(lambda: place.robot.now() and "waiting for the operator" in place.machine.reason, "asking again")
    time.sleep(0.5)
    assert place.robot.recoveries == 1


def test_without_a_driver_the_missing_part_is_named(place: Place) -> None:
    place.machine.observe(replace(Robot.state(_Unconnected()), mode=RobotMode.REFLEX, error=True))
    assert place.confirm().success
    place.wait(lambda: "the error_recovery action has no server" in place.machine.reason, "the reason")


class _Unconnected:
    """Enough of a Robot to give a state."""

    def __init__(self) -> None:
        self.faulty = FaultyRobot(FaultSchedule(["front"]))

    def now(self) -> float:
        return 0.0


@pytest.mark.parametrize("place", [{"confirm": False}], indirect=True)
def test_without_confirmation_it_recovers_by_itself(place: Place) -> None:
    place.connect()
    reflex(place)
    place.wait(lambda: not place.machine.reason, "recovery")
    assert place.robot.recoveries == 1
