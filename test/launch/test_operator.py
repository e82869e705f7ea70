"""The operator's status of a whole graph, a pause in it, and practice from where the arm is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import yaml
from geometry_msgs.msg import PoseStamped
from graph import Graph, Listener
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from recorder import Person

from rlt_ros import msg, srv
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import stamp_of
from rlt_ros.nodes.convert_robot import pose_from_message
from rlt_ros.robot.config import load_robot
from rlt_ros.types import Mode, Phase

STATUS, WORD = "/rlt/operator_status", "/rlt/policy_mode"
STEP, POSE = "/rlt/executed_step", "/franka_robot_state_broadcaster/current_pose"
TOPICS = {
    STATUS: (msg.OperatorStatus, qos.LATCHED),
    WORD: (msg.PolicyMode, None),
    STEP: (msg.ExecutedStep, None),
    POSE: (PoseStamped, qos.SENSOR),
}
LABEL, SET = srv.LabelEpisode.Request, srv.SetPolicyMode.Request
HELD_IN = (Phase.LABELLED, Phase.APPROACH)
PAUSE, NEXT = srv.SetPolicyMode.Request.PAUSE, srv.SetPolicyMode.Request.NEXT


def test_a_pause_holds_between_two_episodes_until_next(stage2: Callable[..., Graph], listener: Listener) -> None:
    graph = stage2(domain=listener.domain, practice_minutes=20.0)
    person = Person(graph, listener)

    def status() -> msg.OperatorStatus:
        return listener.newest(STATUS)

    def wait(what: Callable[[], object], why: str) -> None:
        graph.wait_for(lambda: listener.spin() and status() is not None and what(), 120, why)

    wait(lambda: status().labels, "a labelled phase")
    assert person.mode(PAUSE).success
    # During a reset it lets the arm arrive at the start.
    wait(lambda: status().paused and status().phase in HELD_IN and status().mode == Mode.HOLD, "the hold")
    labels, words, phase = len(status().labels), len(listener.received[WORD]), status().phase
    wait(lambda: len(listener.received[WORD]) >= words + 40, "40 more observations")
    assert {(word.mode, word.phase) for word in listener.received[WORD][words:]} == {(Mode.HOLD, phase)}
    wait(lambda: status().rows > 0 and status().learner_silence >= 0.0, "the learner's figures")
    wait(lambda: status().robot_mode == "MOVE", "the mode of the robot")
    assert len(status().labels) == labels
    assert status().hold_reason.startswith("operator: ") or status().hold_reason == ""
    assert person.mode(NEXT).success
    wait(lambda: not status().paused and len(status().labels) > labels, "the next label")
    assert status().stage == "practice" and 0.0 < status().practice_minutes < status().practice_minutes_wanted == 20.0


def test_practice_goes_on_from_where_the_person_says(stage2: Callable[..., Graph], listener: Listener) -> None:
    graph = stage2(domain=listener.domain, operator="person", lockstep="true", reset="motion", practice_minutes=20.0)
    person, reset = Person(graph, listener), load_robot().reset

    def wait(what: Callable[[], object], why: str) -> None:
        graph.wait_for(lambda: listener.spin() and what(), 180, why)

    def resets() -> list[msg.ExecutedStep]:
        return [step for step in listener.received[STEP] if step.reset_done]

    def end_of_last_reset() -> np.ndarray:
        stamp = stamp_of(resets()[-1].header)
        # The pose is sensor data, which may lose a message: then its neighbour in time stands for it.
        nearest = min(listener.received[POSE], key=lambda m: abs(stamp_of(m.header) - stamp))
        return pose_from_message(nearest.pose).position

    wait(lambda: person.mode(SET.RESET).success, "a reset")
    wait(lambda: resets() and listener.newest(WORD).phase == Phase.APPROACH, "the first episode")
    assert (np.abs(end_of_last_reset() - reset.start.position) <= np.array(reset.start.spread) + reset.tolerance).all()
    lowest = reset.start.position[2] - reset.start.spread[2] - reset.tolerance
    # The quickly made VLA hovers now and then: so many steps say nothing about where it is.
    wait(lambda: listener.newest(POSE).pose.position.z < lowest - 0.005, "a pose below all start poses")
    assert person.label(LABEL.BEGIN).success
    answer = person.mode(SET.START_HERE)
    assert answer.success and answer.message.startswith("start pose 1 saved")
    here = np.array(json.loads(answer.message.partition(": ")[2].partition(" m;")[0]))
    assert here[2] < lowest, "not where it began"
    wait(lambda: listener.newest(STATUS).start_poses == 1, "the status")
    wait(lambda: person.label(LABEL.FAILURE).success, "the label")
    wait(lambda: len(resets()) == 2 and listener.newest(POSE) is not None, "the next reset")
    assert (np.abs(end_of_last_reset() - here) <= np.array(reset.start.spread) + reset.tolerance + 0.001).all()
    words = [word for word in listener.received[WORD] if word.mode == Mode.RESET]
    assert len(words[-1].reset_start) == 7 and not len(words[0].reset_start)


RULES = Path(__file__).parents[2] / "config" / "operator" / "referee.yaml"


def test_a_referee_begins_and_labels_and_a_person_can_switch_it_off(
    stage2: Callable[..., Graph], listener: Listener, tmp_path: Path
) -> None:
    rules = yaml.safe_load(RULES.read_text())
    # The quickly made VLA hovers now and then: whoever practises wants its attempts too.
    rules["begin"].append({"name": "has had its chance", "after": 1.0})
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    graph = stage2(
        domain=listener.domain,
        operator="person",
        lockstep="true",
        practice_minutes=20.0,
        referee=tmp_path / "rules.yaml",
    )
    person = Person(graph, listener)

    def wait(what: Callable[[], object], why: str) -> None:
        graph.wait_for(lambda: listener.spin() and what(), 240, why)

    def labels() -> list[int]:
        return list(listener.newest(STATUS).labels)

    wait(lambda: person.mode(SET.RESET).success, "a reset")
    wait(lambda: len(labels()) >= 3, "three episodes that nobody has begun or labelled by hand")
    assert "begin by rule" in graph.text and "by rule" in graph.text.partition("begin by rule")[2]
    assert any("referee: " in hint for hint in listener.newest(STATUS).hints)
    enabled = AsyncParameterClient(listener.node, "/rlt/referee")
    wait(enabled.services_are_ready, "the referee's parameters")
    answer = enabled.set_parameters([Parameter("enabled", value=False)])
    wait(answer.done, "its answer")
    assert answer.result().results[0].successful
    wait(lambda: any("referee: off" in hint for hint in listener.newest(STATUS).hints), "the status")
    wait(lambda: listener.newest(WORD).phase == Phase.APPROACH, "an approach")
    wait(lambda: listener.newest(STEP).step >= 60 and listener.newest(WORD).phase == Phase.APPROACH, "no begin")
    assert person.label(LABEL.BEGIN).success
    steps = listener.newest(STEP).step
    wait(lambda: listener.newest(STEP).step >= steps + 110, "more than the time of a rule")
    assert listener.newest(WORD).phase == Phase.CRITICAL
    before = len(labels())
    assert person.label(LABEL.FAILURE).success
    wait(lambda: len(labels()) == before + 1 and labels()[-1] == msg.EpisodeEvent.FAILURE, "the person's label")


def test_rules_that_make_no_sense_are_refused_before_anything_moves(
    stage2: Callable[..., Graph], tmp_path: Path
) -> None:
    (tmp_path / "rules.yaml").write_text("success: [{name: deep, box: {lower: [0, 0, 0]}}]")
    graph = stage2(operator="person", referee=tmp_path / "rules.yaml")
    assert graph.end(60) == 1
    assert "rules.yaml.success[0].box: missing key 'upper'" in graph.text and "process started" not in graph.text
