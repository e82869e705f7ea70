"""30 episodes by hand in a whole graph, and every row of them compared with what was done."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable

import numpy as np
import pytest
from graph import Graph, Listener
from script import EPISODES, KILLED_BEFORE, PAUSED_IN, Script
from script import TOPICS as TOPICS  # what the listener listens to
from script_rows import STEP, as_told, by_id, expected_rows, practised

from rlt_ros import msg
from rlt_ros.loop.requests import LABEL_REQUESTS, Request
from rlt_ros.nodes.convert import transition_from_message
from rlt_ros.rl.journal import Journal
from rlt_ros.types import Driver, Mode, Phase

TOLD = {Mode.HUMAN: {Driver.HUMAN}, Mode.HOLD: {Driver.HOLD}}
"""Who may drive at a word; VLA and RL change hands at a chunk boundary."""


def play(script: Script, graph: Graph) -> None:
    """The whole session."""
    script.press(0, Request.RESET)
    for number, episode in enumerate(EPISODES, 1):
        if number - 1 == KILLED_BEFORE:
            killed = graph.node("learner")
            killed.kill()
            script.wait(lambda k=killed: (p := graph.node("learner")) and p.pid != k.pid, "a new learner", 60)
        if number - 1 == PAUSED_IN:
            script.press(number, Request.PAUSE)
        script.play(number, episode)
        if number - 1 == PAUSED_IN:
            script.wait(lambda: script.word.phase == Phase.LABELLED and script.word.mode == Mode.HOLD, "the pause")
            here = script.word.observation_id
            script.wait(lambda h=here: script.word.observation_id > h + 30, "30 observations of pause")
            assert (script.word.phase, script.word.mode) == (Phase.LABELLED, Mode.HOLD)
            script.press(number, Request.NEXT)


@pytest.fixture()
def session(stage2: Callable[..., Graph], listener: Listener) -> tuple[Script, Listener]:
    """A session that was played to its end and interrupted as a person would."""
    graph = stage2(domain=listener.domain, operator="person", lockstep="true", practice_minutes=60, eval_episodes=0)
    script = Script(graph, listener)
    play(script, graph)
    published = lambda: max((row.id for row in listener.received["/rlt/transition"]), default=0)  # noqa: E731
    acked = lambda: max((ack.ack_id for ack in listener.received["/rlt/transition_ack"]), default=0)  # noqa: E731
    finished = lambda: any(row.phase_id == len(EPISODES) for row in listener.received["/rlt/transition"])  # noqa: E731
    script.wait(lambda: finished() and published() == acked(), "the acknowledgement of every row")
    # Its last count comes with the next status.
    script.wait(lambda: len(listener.newest("/rlt/operator_status").labels) == 20, "the status")
    graph.send(signal.SIGINT, whole_group=True)
    assert graph.end() == 0
    assert "Traceback" not in graph.text
    return script, listener


def test_thirty_episodes_leave_exactly_the_rows_of_what_was_done(session: tuple[Script, Listener]) -> None:
    script, listener = session
    received = listener.received
    words, steps = by_id(received["/rlt/policy_mode"]), by_id(received["/rlt/executed_step"])
    events = sorted({e.phase_id: e for e in received["/rlt/episode_event"]}.values(), key=lambda e: e.phase_id)
    check_labels(script, events, words)
    check_drivers(script, words, steps)
    kept = list(Journal(script.graph.run_dir / "transitions"))
    assert [row.id for row in kept] == list(range(1, len(kept) + 1))
    expected = expected_rows(words, steps, events)
    for row, right in zip(map(as_told, kept), expected, strict=True):
        assert row == right
    told = {row.id: row for row in received["/rlt/transition"]}
    assert [as_told(transition_from_message(told[row.id])) for row in kept] == [as_told(row) for row in kept]
    check_features(kept, received["/rlt/features"])
    check_status(listener.newest("/rlt/operator_status"), events, words, steps)
    humans = sum(step["drivers"].count(Driver.HUMAN) > 0 for step in expected)
    print(
        f"\n{len(EPISODES)} episodes, {len(steps)} steps, {len(kept)} rows as expected, {humans} with a person's hand"
    )


def check_labels(script: Script, events: list[msg.EpisodeEvent], words: dict[int, msg.PolicyMode]) -> None:
    """One phase and one label for each episode of the script, named at the observation after its last word."""
    assert [(e.phase_id, e.label) for e in events] == [
        (number, LABEL_REQUESTS.index(episode.label)) for number, episode in enumerate(EPISODES, 1)
    ]
    for event in events:
        of_phase = [i for i, word in words.items() if word.phase_id == event.phase_id]
        assert of_phase == list(range(event.observation_id - len(of_phase), event.observation_id))
    expected = [r for e in EPISODES for r in (Request.BEGIN, *(p for _, p in e.presses), e.label)]
    others = (Request.RESET, Request.PAUSE, Request.NEXT)
    assert [request for _, request in script.record.pressed if request not in others] == expected


def check_drivers(script: Script, words: dict[int, msg.PolicyMode], steps: dict[int, msg.ExecutedStep]) -> None:
    """Whoever was asked drove, step by step, and the person's steps are those of the hand."""
    assert list(steps) == list(range(1, max(steps) + 1)), "one step for every observation"
    critical = {i: word for i, word in words.items() if word.phase == Phase.CRITICAL}
    for i, word in critical.items():
        allowed = TOLD.get(Mode(word.mode), {Driver.VLA, Driver.ACTOR})
        assert steps[i].driver in allowed, (i, word.mode, steps[i].driver, steps[i].reason)
        assert steps[i].episode == word.episode
    for number in range(1, len(EPISODES) + 1):
        own = {i for i, step in steps.items() if step.phase_id == number}
        assert own == set(practised(number, words, steps))
    for i, move in script.record.moves.items():
        assert steps[i].driver == STEP.HUMAN
        np.testing.assert_array_equal(np.array(steps[i].action)[:6], move[:6])
    check_changes_of_hands(steps)
    assert {step.driver for step in steps.values()} == {0, 1, 2, 3, 4}, "VLA, actor, person, hold and reset all drove"


def check_changes_of_hands(steps: dict[int, msg.ExecutedStep]) -> None:
    """VLA and RL follow each other at a chunk's end only; after a person or a hold there is a chunk of that moment."""
    policies = (STEP.VLA, STEP.ACTOR)
    for before, after in itertools.pairwise(steps.values()):
        if after.driver not in policies:
            continue
        if before.driver in policies:
            assert after.chunk_id == before.chunk_id or before.remaining == 0, after.observation_id
            assert after.driver == before.driver or after.chunk_index == 0, after.observation_id
        else:
            assert (after.chunk_id, after.chunk_index) == (after.observation_id, 0)


def check_features(kept: list, told: list[msg.Features]) -> None:
    """The reference in a row is the VLA's raw chunk, also where a person drove."""
    sent = {message.id: message for message in told}
    compared = 0
    for row in kept:
        for features in row.features:
            if features.id in sent:
                raw = np.frombuffer(sent[features.id].reference, np.float32)
                np.testing.assert_array_equal(features.reference.reshape(-1), raw[: features.reference.size])
                compared += 1
    assert compared > len(kept)


def check_status(
    status: msg.OperatorStatus,
    events: list[msg.EpisodeEvent],
    words: dict[int, msg.PolicyMode],
    steps: dict[int, msg.ExecutedStep],
) -> None:
    """The person was told the truth about the last 20."""
    last = [event for event in events if event.label != msg.EpisodeEvent.DISCARD][-20:]
    assert list(status.labels) == [event.label for event in last]
    outcomes = [event.label == msg.EpisodeEvent.SUCCESS for event in last if event.label != msg.EpisodeEvent.ABORT]
    assert status.success_rate == pytest.approx(sum(outcomes) / len(outcomes))
    phases = {event.phase_id for event in last}
    drivers = [step.driver for step in steps.values() if step.phase_id in phases]
    assert status.intervention_rate == pytest.approx(drivers.count(STEP.HUMAN) / len(drivers))
    assert (status.phase_id, status.stage, status.stage_episodes) == (len(EPISODES), "practice", len(EPISODES))
