"""Field reports A09, C06, C07 against real action servers: what reaches the hand, and what it may do to the arm."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

pytest.importorskip("franka_msgs.action", reason="franka_msgs is not built here")
pytest.importorskip("control_msgs.action", reason="control_msgs is not built here")
import rclpy
from graph import new_domain
from hand_server import HandServer
from rclpy.context import Context

from rlt_ros.nodes import gripper_client
from rlt_ros.nodes.gripper_client import GripperClient
from rlt_ros.nodes.runtime import BaseNode
from rlt_ros.nodes.side import Side
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.gripper import GripperLatch

ROBOT = load_robot()


class Logged:
    """Collects what would be logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.warning = self.error = self.info = self.lines.append

    def wait_for(self, words: str, seconds: float = 30.0) -> str:
        wait(lambda: any(words in line for line in self.lines), f"{words!r} in {self.lines}", seconds)
        return next(line for line in self.lines if words in line)


def wait(condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{seconds} s without {what}"
        time.sleep(0.02)


class Bench:
    """A client in a node, and hands to serve it, in a domain of their own."""

    def __init__(self) -> None:
        self.domain = new_domain()
        self._context = Context()
        rclpy.init(context=self._context, domain_id=self.domain)
        self.node = BaseNode("executor", context=self._context)
        self.side = Side(self.node, "side")
        self.log = self.side.log = Logged()
        self._hands: list[HandServer] = []

    def client(self, **changes: object) -> GripperClient:
        robot = replace(ROBOT, gripper=replace(ROBOT.gripper, **{"interval": 0.1} | changes))
        return GripperClient(self.side, robot, self.node.robot_topic)

    def hand(self, **behaviour: object) -> HandServer:
        self._hands.append(HandServer(self.domain, **behaviour))
        return self._hands[-1]

    def close(self) -> None:
        for hand in self._hands:
            hand.close()
        self.side.close()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)


@pytest.fixture()
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def drive(client: GripperClient, values: list[float], width: float = 0.08, pause: float = 0.05) -> None:
    """Gripper values of consecutive control steps, through the latch, as the executor does."""
    latch = GripperLatch(ROBOT.gripper)
    latch.start(width)
    for value in values:
        change = latch.update(value)
        if change is not None:
            client.command(change)
        time.sleep(pause)


def test_one_goal_per_change_with_the_units_of_the_hand(bench: Bench) -> None:
    """A09: g = -1, -1, -1, +1, +1."""
    hand, client = bench.hand(), bench.client()
    drive(client, [-1.0, -1.0, -1.0], pause=0.1)
    wait(lambda: hand.names == ["grasp"], "the grasp")
    drive(client, [1.0, 1.0], pause=0.1)
    wait(lambda: hand.names == ["grasp", "move"], "the move")
    grasp, move = (goal for _, goal in hand.goals)
    assert (grasp.width, grasp.speed, grasp.force, grasp.epsilon.outer) == (0.0, 0.1, 40.0, 0.08)
    assert (move.width, move.speed) == (0.08, 0.1)
    time.sleep(0.5)
    assert len(hand.goals) == 2 and client.status == ""


def test_the_first_close_reaches_a_hand_that_is_closed_already(bench: Bench) -> None:
    """A09: a wrong initial flag swallowed the first close."""
    hand = bench.hand()
    drive(bench.client(), [-1.0], width=0.0)
    wait(lambda: hand.names == ["grasp"], "the grasp")


def test_gripper_command_speaks_in_half_widths(bench: Bench) -> None:
    hand, client = bench.hand(), bench.client(driver="gripper_command")
    hand.stalled = True
    drive(client, [-1.0])
    wait(lambda: hand.names == ["gripper_action"], "the close")
    time.sleep(0.3)
    assert client.status == "", "fingers that stall on the part hold it"
    drive(client, [1.0])
    wait(lambda: len(hand.goals) == 2, "the opening")
    close, opening = (goal.command for _, goal in hand.goals)
    assert (close.position, close.max_effort) == (0.0, 40.0)
    assert (opening.position, opening.max_effort) == (0.04, 40.0)
    bench.log.wait_for("gripper: opening failed: stands at 0.0800 m")


def test_a_goal_that_stalls_100_s_blocks_nobody(bench: Bench) -> None:
    """C06: object between the fingers; close, then open."""
    hand, client = bench.hand(stall=100.0), bench.client()
    began = time.monotonic()
    drive(client, [-1.0], pause=0.0)
    assert time.monotonic() - began < 0.1, "the control step went on"
    wait(lambda: hand.names == ["grasp"], "the grasp")
    hand.stall = 0.0
    drive(client, [1.0])
    wait(lambda: hand.names == ["grasp", "move"], "the opening, though the grasp runs on", 10.0)
    bench.log.wait_for("closing does not end after it was cancelled")


def test_a_hand_that_hears_the_cancel_opens_at_once(bench: Bench) -> None:
    hand, client = bench.hand(stall=100.0, hears_cancel=True), bench.client()
    drive(client, [-1.0])
    wait(lambda: hand.names == ["grasp"], "the grasp")
    hand.stall = 0.0
    drive(client, [1.0])
    wait(lambda: hand.names == ["grasp", "move"], "the opening", 10.0)
    told = [line for line in bench.log.lines if "gripper" in line]
    assert not [line for line in told if "has no action server" not in line], (
        "but for the hand being found a moment later"
    )


def test_a_stuck_hand_is_named_and_not_asked_again(bench: Bench) -> None:
    hand, client = bench.hand(stall=100.0), bench.client(timeout=1.0)
    drive(client, [-1.0])
    bench.log.wait_for("gripper: closing has not ended within 1 s; going on without it: is it stuck?")
    assert "stuck" in client.status
    time.sleep(1.0)
    assert hand.names == ["grasp"]
    hand.stall = 0.0
    drive(client, [1.0])
    wait(lambda: hand.names == ["grasp", "move"], "the next wish")
    wait(lambda: client.status == "", "the end of the trouble")


def test_the_same_close_in_500_control_steps_is_one_goal(bench: Bench) -> None:
    """C07."""
    hand = bench.hand(stall=0.3)
    drive(bench.client(), [-1.0] * 500, pause=0.002)
    wait(lambda: hand.goals, "the grasp")
    time.sleep(0.5)
    assert hand.names == ["grasp"]


@pytest.mark.parametrize("how", ["fails", "refuses"])
def test_a_failed_goal_is_named_with_the_hand_s_words(bench: Bench, how: str) -> None:
    hand, client = bench.hand(fails="libfranka: gripper: command failed" if how == "fails" else ""), bench.client()
    hand.accepts = how == "fails"
    drive(client, [-1.0])
    words = "libfranka: gripper: command failed" if how == "fails" else "the goal was refused"
    assert bench.log.wait_for("gripper: closing failed").endswith(words)
    time.sleep(0.5)
    assert len(hand.goals) == (how == "fails")


def test_a_hand_that_comes_later_gets_the_newest_wish_only(bench: Bench) -> None:
    client = bench.client()
    drive(client, [-1.0, 1.0, -1.0])
    bench.log.wait_for("closing waits: /franka_gripper/grasp has no action server; is the gripper's node running?")
    hand = bench.hand()
    wait(lambda: hand.names, "the goal")
    time.sleep(0.5)
    assert hand.names == ["grasp"]


def test_homing_at_the_start_comes_before_the_first_wish(bench: Bench) -> None:
    hand, client = bench.hand(stall=0.5), bench.client(homing=True)
    drive(client, [-1.0])
    wait(lambda: hand.names == ["homing", "grasp"], "both")
    commands = bench.client(driver="gripper_command", homing=True)
    bench.log.wait_for("homing is not offered by this driver")
    drive(commands, [-1.0])
    wait(lambda: "gripper_action" in hand.names, "the close")


def test_no_gripper_is_left_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    hand = bench.hand()
    drive(bench.client(driver="none"), [-1.0, 1.0])
    monkeypatch.setattr(gripper_client, "Move", None)
    drive(bench.client(), [-1.0, 1.0])
    bench.log.wait_for("franka_msgs is not installed, which gripper.driver franka_hand needs")
    time.sleep(0.3)
    assert not hand.goals


def test_what_fails_in_the_side_thread_does_not_end_it(bench: Bench) -> None:
    bench.side.post(lambda: 1 / 0)
    bench.log.wait_for("ZeroDivisionError")
    went_on = threading.Event()
    bench.side.post(went_on.set)
    assert went_on.wait(5.0)
