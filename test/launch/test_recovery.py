"""Reset by motion and recovery, as a whole graph does them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import PoseStamped
from graph import Graph, Listener
from std_srvs.srv import Trigger

from rlt_ros import msg, srv
from rlt_ros.loop.reset import draw
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert_robot import pose_from_message
from rlt_ros.robot.config import load_robot

Start = Callable[..., Graph]
ROBOT = load_robot()
STEP = msg.ExecutedStep
TOPICS = {
    "/rlt/executed_step": (STEP, None),
    "/rlt/policy_mode": (msg.PolicyMode, None),
    "/rlt/episode_event": (msg.EpisodeEvent, None),
    "/rlt/transition": (msg.Transition, qos.TRANSITIONS),
    "/franka_robot_state_broadcaster/current_pose": (PoseStamped, qos.SENSOR),
}
TRACEBACK = "Traceback (most recent call last)"


@pytest.fixture()
def moving(quick: Path) -> Path:
    """Parameters with which the arm is reset by motion."""
    values = yaml.safe_load(quick.read_text())
    values["/**/executor"] = {"ros__parameters": {"reset": "motion"}}
    quick.write_text(yaml.safe_dump(values))
    return quick


def executed(listener: Listener) -> list[msg.ExecutedStep]:
    """One per observation, in order."""
    steps = {step.observation_id: step for step in listener.received["/rlt/executed_step"]}
    return [steps[i] for i in sorted(steps)]


def test_the_arm_moves_to_the_start_and_the_episode_begins_as_after_a_teleport(
    stage2: Start, listener: Listener, moving: Path
) -> None:
    graph = stage2(domain=listener.domain, params_file=moving, reset="motion", practice_minutes=3.0, eval_episodes=0)
    graph.wait_for(
        lambda: listener.spin() and sum(step.reset_done for step in executed(listener)) >= 3, 420, "three resets"
    )
    graph.wait_for(
        lambda: listener.spin() and not executed(listener)[-1].driver == STEP.RESET, 60, "the episode after the reset"
    )
    assert TRACEBACK not in graph.text
    steps = executed(listener)
    poses = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in listener.received[TOPIC_POSE]}
    words = {word.observation_id: word for word in listener.received["/rlt/policy_mode"]}
    for done in [step for step in steps if step.reset_done]:
        measured = pose_from_message(poses[(done.header.stamp.sec, done.header.stamp.nanosec)].pose)
        step, turn = measured.to(draw(ROBOT.reset.start, words[done.observation_id].reset_seed))
        assert np.linalg.norm(step) <= ROBOT.reset.tolerance
        assert np.linalg.norm(turn) <= ROBOT.reset.rotation_tolerance
        following = next((s for s in steps if s.observation_id == done.observation_id + 1), None)
        if following is not None:
            assert (following.episode, following.step, following.driver) == (done.episode + 1, 0, STEP.VLA)
    resets = [step for step in steps if step.driver == STEP.RESET]
    assert all(step.commanded and step.phase_id == 0 for step in resets)
    print(f"\n{len(resets)} steps for {sum(s.reset_done for s in steps)} resets")


TOPIC_POSE = "/franka_robot_state_broadcaster/current_pose"


class Asking:
    """Calls services of the graph from the listener's node."""

    def __init__(self, graph: Graph, listener: Listener) -> None:
        self._graph, self._listener = graph, listener

    def __call__(self, service: type, name: str, /, **request: object) -> object:
        client = self._listener.node.create_client(service, name)
        self._graph.wait_for(lambda: self._listener.spin() and client.service_is_ready(), 60, name)
        future = client.call_async(service.Request(**request))
        self._graph.wait_for(lambda: self._listener.spin() and future.done(), 30, f"an answer of {name}")
        return future.result()


def test_a_reflex_truncates_the_phase_and_the_operator_s_word_brings_the_arm_back(
    stage2: Start, listener: Listener
) -> None:
    graph = stage2(domain=listener.domain, practice_minutes=5.0, eval_episodes=0)
    ask = Asking(graph, listener)

    def newest() -> msg.ExecutedStep:
        return listener.newest("/rlt/executed_step")

    graph.wait_for(lambda: listener.spin() and newest() and newest().phase_id >= 2, 420, "a critical phase")
    assert ask(srv.SimFault, "/sim/fault", kind="reflex").success
    graph.wait_for(lambda: listener.spin() and "recovery:" in newest().reason, 30, "the fault")
    first = next(step for step in executed(listener) if "recovery:" in step.reason)
    begun = {event.phase_id: event for event in listener.received["/rlt/episode_event"]}
    if first.phase_id:
        assert begun[first.phase_id].label == msg.EpisodeEvent.ABORT
        assert begun[first.phase_id].observation_id == first.observation_id + 1
    for _ in range(40):
        listener.spin()
    held = [step for step in executed(listener) if step.observation_id >= first.observation_id]
    assert {step.driver for step in held} == {STEP.HOLD}, "nothing goes on by itself"
    assert "recovery: the robot is in REFLEX" in graph.text
    answer = ask(Trigger, "/rlt/recover")
    assert answer.success, answer.message
    graph.wait_for(lambda: listener.spin() and newest().driver in (STEP.VLA, STEP.ACTOR), 120, "the arm to go on")
    for words in ("error_recovery: done", "activating the hardware: done", "activating the controllers: done"):
        assert words in graph.text
    rows = [row for row in listener.received["/rlt/transition"] if row.phase_id == first.phase_id]
    assert not any(row.terminated for row in rows)
    assert TRACEBACK not in graph.text
