"""A person with a gamepad at the simulated robot: real processes over real DDS. Field reports A02, B40, B41, B42."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import PoseStamped
from graph import Graph, Listener
from joy_driver import JoyDriver
from recorder import Person

from rlt_ros import msg, srv
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import features_from_message, stamp_of, step_from_message, transition_from_message
from rlt_ros.nodes.convert_robot import pose_from_message
from rlt_ros.robot.config import load_robot
from rlt_ros.types import Driver, Mode, Phase

PRESETS = Path(__file__).parents[2] / "config" / "operator" / "devices"
PAD = yaml.safe_load((PRESETS / "gamepad_xbox.yaml").read_text())
DEADMAN, TOGGLE, BEGIN, SUCCESS = PAD["deadman"], PAD["gripper"]["toggle"], 3, 0
FORWARD, UP, TURN = 1, 4, 3
"""Axes of the preset."""
RESET = srv.SetPolicyMode.Request.RESET
ROBOT = load_robot()
STEP_S = 1.0 / ROBOT.control_rate
STEPS, WORD, STATUS, ROWS = "/rlt/executed_step", "/rlt/policy_mode", "/rlt/operator_status", "/rlt/transition"
POSE = f"/{ROBOT.topics.current_pose}"
TOPICS = {
    WORD: (msg.PolicyMode, None),
    STATUS: (msg.OperatorStatus, qos.LATCHED),
    ROWS: (msg.Transition, qos.TRANSITIONS),
    "/rlt/features": (msg.Features, None),
    POSE: (PoseStamped, qos.SENSOR),
}
Start = Callable[..., Graph]


class Scene:
    """A graph, a gamepad's driver, and what was said and done meanwhile."""

    def __init__(self, graph: Graph, listener: Listener) -> None:
        self.graph, self.listener = graph, listener
        self.person, self.pad = Person(graph, listener), JoyDriver(graph.domain)

    def wait(self, what: Callable[[], Any], why: str, timeout: float = 120.0) -> Any:
        return self.graph.wait_for(lambda: self.listener.spin(0.01) and what(), timeout, why)

    def say(self, text: str) -> None:
        self.wait(lambda: text in self.graph.text, f"the words {text!r}")

    @property
    def mode(self) -> Mode:
        word = self.listener.newest(WORD)
        return Mode(word.mode) if word else Mode.HOLD

    @property
    def phase(self) -> Phase:
        return Phase(self.listener.newest(WORD).phase)

    @property
    def steps(self) -> list[msg.ExecutedStep]:
        return self.listener.received[STEPS]

    def drivers(self, since: int) -> list[Driver]:
        return [Driver(step.driver) for step in self.steps[since:]]

    def drive(self, count: int, axes: dict[int, float], *held: int) -> list[msg.ExecutedStep]:
        """Hold the deadman and these sticks until so many steps were driven by the person; these.

        On a machine that stalls the driver may fall silent, which locks the deadman: let go and press again.
        """
        since, again, seen = len(self.steps), time.monotonic() + 5.0, 0
        human = lambda: [s for s in self.steps[since:] if s.driver == s.HUMAN]  # noqa: E731

        def driven() -> bool:
            nonlocal again, seen
            if len(human()) > seen:
                seen, again = len(human()), time.monotonic() + 5.0
            if time.monotonic() > again:
                self.pad.hold()
                time.sleep(0.5)
                self.pad.hold(DEADMAN, *held, axes=axes)
                again = time.monotonic() + 5.0
            return seen >= count

        self.pad.hold(DEADMAN, *held, axes=axes)
        self.wait(driven, f"{count} steps of the person")
        return human()

    def pose(self) -> Any:
        return pose_from_message(self.listener.newest(POSE).pose)

    def approach(self) -> None:
        """Wait for the devices, then into the approach of an episode."""
        self.say(": live")
        self.say("teleop answers")
        self.wait(lambda: self.listener.newest(WORD), "the operator's word", 240.0)
        self.wait(lambda: self.person.mode(RESET).success, "the reset")
        driven = lambda: self.steps and self.steps[-1].driver != Driver.RESET  # noqa: E731
        self.wait(lambda: self.phase is Phase.APPROACH and driven(), "the approach")

    def press(self, button: int, what: Callable[[], Any], why: str) -> None:
        """Press a button until it has its effect, as a person does on a machine that stalls."""
        again = 0.0

        def effect() -> bool:
            nonlocal again
            if not what() and time.monotonic() > again:
                self.pad.press(button)
                again = time.monotonic() + 3.0
            return bool(what())

        self.wait(effect, why)


@pytest.fixture()
def steps_listener(listener: Listener) -> Listener:
    """Notes when each executed step was sent, s of the system clock, in `sent`."""
    listener.received[STEPS] = []
    listener.sent = []

    def note(message: msg.ExecutedStep, info: Any) -> None:
        listener.received[STEPS].append(message)
        listener.sent.append(info["source_timestamp"] / 1e9)

    listener.node.create_subscription(msg.ExecutedStep, STEPS, note, qos.TRANSITIONS)
    return listener


@pytest.fixture()
def collect(tmp_path: Path, steps_listener: Listener) -> Iterator[Callable[..., Scene]]:
    """The graph that records demonstrations, with a person at a gamepad."""
    scenes: list[Scene] = []

    def start(**changes: Any) -> Scene:
        mapping = tmp_path / "pad.yaml"
        mapping.write_text(yaml.safe_dump(PAD | changes))
        arguments = {"out": tmp_path / "demos", "operator": "person", "devices": mapping, "seed": 1, "episodes": 1}
        graph = Graph(tmp_path / "launch.log", arguments, "collect.launch.py", domain=steps_listener.domain)
        scenes.append(Scene(graph, steps_listener))
        return scenes[-1]

    yield start
    for scene in scenes:
        scene.pad.close()
        scene.graph.abandon()


def last_human(listener: Listener) -> float:
    """When the newest step of the person was sent, s of the system clock."""
    return max(t for t, step in zip(listener.sent, listener.received[STEPS]) if step.driver == step.HUMAN)


def late(listener: Listener, since: float) -> float:
    """Seconds that this graph lost to the machine since then."""
    times = [t for t in listener.sent if t >= since]
    return float(sum(max(0.0, b - a - 1.5 * STEP_S) for a, b in zip(times, times[1:])))


def test_a_correction_in_a_critical_phase(stage2: Start, steps_listener: Listener) -> None:
    listener = steps_listener
    graph = stage2(
        domain=listener.domain, operator="person", devices="gamepad_xbox", practice_minutes=20.0, eval_episodes=0
    )
    scene = Scene(graph, listener)
    try:
        correct(scene, listener)
    finally:
        scene.pad.close()


def correct(scene: Scene, listener: Listener) -> None:
    scene.approach()
    scene.wait(lambda: Driver.VLA in scene.drivers(-5), "the VLA")
    scene.press(BEGIN, lambda: scene.phase is Phase.CRITICAL, "the critical phase")
    scene.wait(lambda: scene.steps[-1].phase_id == 1, "its first step")
    scene.wait(lambda: scene.drivers(-12) == [Driver.VLA] * 12, "steps of the VLA in it")
    since = len(scene.steps)
    driven = scene.drive(12, {UP: 1.0})
    scene.pad.hold()
    scene.wait(lambda: scene.mode is Mode.VLA, "the VLA after the hand back")
    scene.wait(lambda: scene.drivers(-8) == [Driver.VLA] * 8, "its steps")
    scene.press(SUCCESS, lambda: scene.phase is not Phase.CRITICAL, "the label")
    # The newest is not always the last: what nobody has acknowledged yet is sent again.
    scene.wait(lambda: any(row.last_of_phase for row in listener.received[ROWS]), "the rows of the phase")

    # The person drove at once, every step was what was asked for, and moved the arm.
    steps = scene.steps[since:]
    human = [step for step in steps if step.driver == step.HUMAN]
    first, last = human[0], human[-1]
    between = [s for s in steps if first.observation_id <= s.observation_id <= last.observation_id and s not in human]
    # On a busy machine an input may come too late: a hold, never the policy.
    assert {(Driver(s.driver), s.reason.partition(":")[0]) for s in between} <= {(Driver.HOLD, "human")}
    for step in driven:
        assert step.action[:6].tolist() == pytest.approx([0, 0, 1.0, 0, 0, 0], abs=1e-6)
    assert all(step.phase_id == 1 for step in human)
    # B42: afterwards a chunk of a new observation, and from where the arm was.
    back = next(s for s in steps if s.observation_id > last.observation_id and s.driver == s.VLA)
    assert back.chunk_id > last.observation_id
    # A late one begins with the row that was reached meanwhile; while the arm holds, none is (A07).
    meanwhile = [s for s in steps if back.chunk_id <= s.observation_id < back.observation_id and s.driver != s.HOLD]
    assert back.chunk_index == len(meanwhile)
    # From where the person took over: until then the VLA had gone on.
    moved = pose_at(listener, last).position[2] - pose_at(listener, first).position[2]
    step = ROBOT.action_scale.translation
    asked = sum(float(s.sent[2]) for s in human) * step
    # It follows its target within the leash, and was on its way down when the person took it. A hold puts the target
    # back to where the arm is.
    assert between or (0.0 < moved and -step <= asked - moved <= ROBOT.limits.leash_translation + 3 * step)
    helped = rows_tell_the_same(listener, {step.observation_id: step for step in scene.steps})
    # A window with a hold in it is no row: on a machine that stalls there may be none that the person drove alone.
    whole = all(step.driver != step.HOLD for step in scene.steps if step.phase_id == 1)
    assert not whole or (helped[1] > 0 and any(row.drivers[0] == Driver.HUMAN for row in listener.received[ROWS]))
    # Said to whoever looks, and to the operator.
    scene.wait(lambda: any("gamepad_xbox" in text for text in listener.newest(STATUS).devices), "the device")
    assert 0.0 < listener.newest(STATUS).intervention_rate < 1.0
    assert "gamepad_xbox: human: HUMAN drives" in scene.graph.text
    assert "gamepad_xbox: hand_back: VLA drives" in scene.graph.text


def pose_at(listener: Listener, step: msg.ExecutedStep) -> Any:
    """The measured pose nearest in time to a step: a sensor message may be lost."""
    nearest = min(listener.received[POSE], key=lambda m: abs(stamp_of(m.header) - stamp_of(step.header)))
    return pose_from_message(nearest.pose)


def rows_tell_the_same(listener: Listener, executed: dict[int, msg.ExecutedStep]) -> tuple[int, int]:
    """A02: rows hold what was executed and who drove each step; the reference is the VLA's, whoever drove. How many
    steps they hold, and how many of them a person's."""
    rows = [transition_from_message(row) for row in listener.received[ROWS]]
    carried = {f.id: f for row in rows for f in row.features}
    said = {f.id: features_from_message(f) for f in listener.received["/rlt/features"]}
    compared = helped = 0
    for row in rows:
        for i in range(row.valid_horizon):
            step = step_from_message(executed[row.features_id + i])
            assert row.drivers[i] == step.driver
            np.testing.assert_allclose(row.actions[i], step.action, atol=1e-6)
            compared, helped = compared + 1, helped + (step.driver is Driver.HUMAN)
        if row.features_id in carried and row.features_id in said:
            np.testing.assert_array_equal(carried[row.features_id].reference, said[row.features_id].reference)
    assert compared > 0
    return compared, helped


def test_a_frozen_and_an_unplugged_gamepad_hold_the_arm_and_need_the_deadman_anew(
    collect: Callable[..., Scene], steps_listener: Listener
) -> None:
    """B40, B41: what was said last does not go on."""
    scene = collect()
    scene.approach()
    for stop, back in ((signal.SIGSTOP, signal.SIGCONT), (None, None)):
        scene.drive(6, {UP: -0.9})
        at = time.time()
        if stop is None:
            scene.pad.close()
        else:
            scene.pad.process.send_signal(stop)
        scene.wait(lambda: scene.mode is Mode.HOLD, "the hold")
        assert last_human(steps_listener) - at <= 0.1 + 2 * STEP_S + late(steps_listener, at)
        reasons = {step.reason for step in scene.steps if step.driver == step.HOLD}
        assert any(reason.startswith("human: ") for reason in reasons)
        if back is not None:
            scene.pad.process.send_signal(back)
            since = len(scene.steps)
            scene.wait(lambda since=since: len(scene.steps) > since + 15, "steps with the deadman still held")
            assert Driver.HUMAN not in scene.drivers(since)
            released = scene.graph.text.count("deadman: released")
            scene.pad.hold()
            scene.wait(lambda r=released: scene.graph.text.count("deadman: released") > r, "the release")
    assert "pad: stop: the arm holds" in scene.graph.text
    scene.say("pad: no message any more on /joy: no gamepad is plugged in, or autorepeat_rate")


def test_a_killed_node_holds_the_arm_and_a_held_deadman_does_not_count_for_the_next_one(
    collect: Callable[..., Scene], steps_listener: Listener
) -> None:
    """B41."""
    scene = collect()
    scene.approach()
    scene.drive(6, {UP: -0.9})
    at = time.time()
    scene.graph.node("input_devices").kill()
    scene.wait(lambda: scene.drivers(-4) == [Driver.HOLD] * 4, "the hold")
    assert last_human(steps_listener) - at <= 0.1 + 2 * STEP_S + late(steps_listener, at)
    assert scene.mode is Mode.HUMAN, "nobody has handed back"
    assert "human: " in scene.steps[-1].reason
    since = len(scene.steps)
    again = "input_devices was killed by SIGKILL; it is started again"
    scene.say(again)
    scene.wait(lambda: "pad: live" in scene.graph.text.partition(again)[2], "the next one")
    scene.wait(lambda: len(scene.steps) > since + 60, "steps with the deadman held")
    assert Driver.HUMAN not in scene.drivers(since)
    scene.pad.hold()
    scene.wait(lambda: "deadman: released" in scene.graph.text.partition(again)[2], "the release")
    scene.drive(6, {UP: 0.9})


def test_a_demonstration_along_the_axes_of_the_tool(collect: Callable[..., Scene], tmp_path: Path) -> None:
    scene = collect(frame="tool")
    scene.approach()
    scene.drive(14, {TURN: 1.0})
    scene.pad.hold()
    scene.wait(lambda: scene.drivers(-4) == [Driver.HOLD] * 4, "the hold")
    assert "human: let go" in {step.reason for step in scene.steps}, "it does not wait for the command to grow old"
    scene.press(BEGIN, lambda: scene.phase is Phase.CRITICAL, "the demonstration")
    start = scene.pose()
    turned = (start.rotation * ROBOT.reference.rotation.inv()).as_rotvec()
    assert abs(turned[2]) > 0.1, "the tool was turned, so its axes are not the base's"
    driven = scene.drive(8, {FORWARD: 1.0})
    scene.pad.hold()
    scene.wait(lambda: scene.drivers(-6) == [Driver.HOLD] * 6, "the hold")
    there = scene.pose()  # the reset follows the label
    scene.press(SUCCESS, lambda: scene.phase is not Phase.CRITICAL, "the label")
    way = there.position - start.position
    along = start.rotation.apply([1.0, 0.0, 0.0])
    assert np.linalg.norm(way) > 0.02
    assert float(way @ along) / np.linalg.norm(way) > 0.97, "it moved along the x axis of the tool"
    assert scene.graph.end() == 0
    # What was stored, replayed from where the arm was, leads to where it went.
    [episode] = DatasetReader(tmp_path / "demos")
    human = episode.arrays["driver"] == Driver.HUMAN
    assert len(driven) <= human.sum() < len(human)
    end = start
    for action in episode.arrays["action"][human]:
        end = ROBOT.action_space.target(end, action)
    np.testing.assert_allclose(end.position, there.position, atol=0.004)


def test_the_gripper_follows_its_button_while_the_deadman_is_held(collect: Callable[..., Scene]) -> None:
    scene = collect()
    scene.approach()
    scene.drive(4, {})
    held = scene.steps[-1].action[6]
    for _ in range(2):
        scene.pad.press(TOGGLE, DEADMAN)
        scene.wait(lambda held=held: scene.steps[-1].action[6] == -held, "the gripper")
        held = -held


def test_two_drivers_on_one_topic_are_refused(collect: Callable[..., Scene]) -> None:
    scene = collect()
    scene.approach()
    other = JoyDriver(scene.graph.domain)
    try:
        scene.say("/joy has 2 publishers (joy_node, joy_node); expected one")
        since = len(scene.steps)
        scene.pad.hold(DEADMAN, axes={UP: 1.0})
        scene.wait(lambda: len(scene.steps) > since + 20, "steps meanwhile")
        assert Driver.HUMAN not in scene.drivers(since)
    finally:
        other.close()


def test_without_a_driver_the_error_names_topic_and_type(collect: Callable[..., Scene]) -> None:
    scene = collect(topic="/joy_left")
    scene.say("nothing publishes /joy_left (sensor_msgs/msg/Joy); such topics are there: /joy")


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"deadman": 0}, "button 0 is that of deadman and of success"),
        ({"frame": "camera", "camera": "front"}, "camera is 'front'; camera_mounts of the robot config has none"),
    ],
)
def test_a_mapping_that_cannot_be_used_ends_the_run_with_the_reason(
    collect: Callable[..., Scene], changes: dict, words: str
) -> None:
    scene = collect(**changes)
    assert scene.graph.end(120) == 1
    assert words in scene.graph.text


@pytest.mark.parametrize("launch_file", ["stage2.launch.py", "collect.launch.py"])
def test_devices_in_lockstep_are_refused(tmp_path: Path, launch_file: str, checkpoint: Path) -> None:
    arguments = {"devices": "gamepad"}
    arguments |= {"out": tmp_path / "demos"} if "collect" in launch_file else {"checkpoint": checkpoint}
    graph = Graph(
        tmp_path / "launch.log",
        arguments | {"run_dir": tmp_path / "run"} if "stage2" in launch_file else arguments,
        launch_file,
    )
    try:
        assert graph.end(60) == 1
        assert "devices:=gamepad needs real time: operator:=person, or lockstep:=false" in graph.text
    finally:
        graph.abandon()
