"""A session as a person would run it: what is pressed in each of 30 episodes, and the record of what was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from graph import Graph, Listener
from recorder import Person

from rlt_ros import msg
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS, Request
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import floats
from rlt_ros.types import Mode, Phase

HUMAN, BACK, STOP = Request.MODE_HUMAN, Request.HAND_BACK, Request.MODE_HOLD
VLA, RL = Request.MODE_VLA, Request.MODE_RL


@dataclass(frozen=True)
class Episode:
    """presses: (steps of the critical phase after which, what). length: steps after which the label is pressed."""

    label: Request
    length: int = 24
    presses: tuple[tuple[int, Request], ...] = ()


S, F, D, A = Request.SUCCESS, Request.FAILURE, Request.DISCARD, Request.ABORT
EPISODES = (
    Episode(F, 14),
    Episode(S, 20),
    Episode(S, presses=((6, HUMAN), (14, BACK))),
    Episode(F, 30),
    Episode(S, presses=((4, HUMAN),)),  # the person brings it to its end
    Episode(D, presses=((8, HUMAN), (12, BACK))),
    Episode(S, 12),
    Episode(F, presses=((3, HUMAN), (7, BACK), (14, HUMAN), (18, BACK))),
    Episode(S, 40),
    Episode(A, 16),
    Episode(S, presses=((5, VLA), (15, RL))),
    Episode(S, 18),  # before this one the learner is killed
    Episode(F, 26, presses=((10, HUMAN), (20, BACK))),
    Episode(S, 16),
    Episode(D, 10),
    Episode(S, presses=((8, STOP), (12, VLA))),
    Episode(S, 1),
    Episode(S, 22),  # a pause follows
    Episode(F, 20),
    Episode(S, presses=((0, HUMAN),)),
    Episode(S, 14),
    Episode(A, presses=((6, HUMAN),)),
    Episode(S, 30, presses=((12, HUMAN), (16, BACK))),
    Episode(S, 12),
    Episode(F, 34),
    Episode(S, presses=((10, VLA),)),
    Episode(S, 18, presses=((6, HUMAN), (10, RL))),
    Episode(F, 12),
    Episode(S, 26),
    Episode(S, 20),
)
KILLED_BEFORE, PAUSED_IN = 11, 17
APPROACH = 4
TOPICS = {
    "/rlt/observation": (msg.Observation, None),
    "/rlt/features": (msg.Features, None),
    "/rlt/executed_step": (msg.ExecutedStep, None),
    "/rlt/episode_event": (msg.EpisodeEvent, None),
    "/rlt/policy_mode": (msg.PolicyMode, None),
    "/rlt/transition": (msg.Transition, qos.TRANSITIONS),
    "/rlt/transition_ack": (msg.TransitionAck, None),
    "/rlt/operator_status": (msg.OperatorStatus, qos.LATCHED),
}


@dataclass
class Record:
    """pressed: (episode of the script, what), in order. moves: what the person did at the handle, by observation."""

    pressed: list[tuple[int, Request]] = field(default_factory=list)
    moves: dict[int, np.ndarray] = field(default_factory=dict)


class Script:
    """Plays EPISODES on a running graph in lockstep, through the services and `human_action`."""

    def __init__(self, graph: Graph, listener: Listener) -> None:
        self.graph, self._listener, self._person = graph, listener, Person(graph, listener)
        self.record = Record()
        self._human = listener.node.create_publisher(msg.HumanAction, "/rlt/human_action", qos.STEP)
        self._phases: dict[int, set[int]] = defaultdict(set)
        listener.node.create_subscription(msg.PolicyMode, "/rlt/policy_mode", self._on_word, qos.STEP)

    def wait(self, what: Callable[[], object], why: str, timeout: float = 120.0) -> None:
        """Until a condition holds, the person's hand at the handle meanwhile."""
        self.graph.wait_for(lambda: self._listener.spin(0.005) and what(), timeout, why)

    @property
    def word(self) -> msg.PolicyMode | None:
        """The operator's newest word."""
        return self._listener.newest("/rlt/policy_mode")

    @property
    def phase_steps(self) -> int:
        """Observations of the critical phase under way, 0 outside."""
        return len(self._phases[self.word.phase_id]) if self.word.phase_id else 0

    def press(self, number: int, request: Request) -> None:
        """Press until it is taken: in between the arm may just be reset."""
        label = request in LABEL_REQUESTS
        codes, ask = (LABEL_REQUESTS, self._person.label) if label else (MODE_REQUESTS, self._person.mode)
        self.wait(lambda: ask(codes.index(request)).success, f"{request.value} in episode {number}")
        self.record.pressed.append((number, request))

    def play(self, number: int, episode: Episode) -> None:
        """One episode, from the end of the reset before it to its label."""
        approaching = lambda: self.word and self.word.phase == Phase.APPROACH and self.word.mode == Mode.VLA  # noqa: E731
        self.wait(approaching, f"the approach of episode {number}")
        newest = self._listener.received["/rlt/executed_step"]
        self.wait(lambda: newest and newest[-1].step >= APPROACH, f"steps of approach in episode {number}")
        self.press(number, Request.BEGIN)
        self.wait(lambda: self.word.phase == Phase.CRITICAL, f"the critical phase of episode {number}")
        for after, request in (*episode.presses, (episode.length, episode.label)):
            self.wait(lambda after=after: self.phase_steps >= after, f"{after} steps of phase {number}")
            self.press(number, request)

    def _on_word(self, word: msg.PolicyMode) -> None:
        self._phases[word.phase_id].add(word.observation_id)
        if word.mode != Mode.HUMAN:
            return
        move = self.record.moves.setdefault(word.observation_id, _move(word.observation_id))
        answer = msg.HumanAction(header=word.header, observation_id=word.observation_id, action=floats(move))
        self._human.publish(answer)


def _move(number: int) -> np.ndarray:
    """A different one at every step, so that no row can hold another's."""
    drawn = np.random.default_rng(number).uniform(-0.4, 0.4, 6)
    return np.array([*drawn, 0.0], np.float32)
