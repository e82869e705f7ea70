"""Modes, critical phases and labels: the brain of the `teleop` node.

Requests are answered at once and take effect at the next observation, which is the one that follows the last step
executed under the old word: a label's event names it, and a stop changes the very next command.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from rlt_ros.loop.plan import EpisodePlan
from rlt_ros.loop.requests import Answer, Request
from rlt_ros.robot.pose import Pose
from rlt_ros.types import EpisodeEvent, ExecutedStep, Label, Mode, Phase, PolicyMode

DEBOUNCE_NS = 200_000_000
"""A second press of the same key within this time counts as one (method.md C.5, 38)."""

_KEPT_MODES = 64
_LABELS = {
    Request.SUCCESS: Label.SUCCESS,
    Request.FAILURE: Label.FAILURE,
    Request.DISCARD: Label.DISCARD,
    Request.ABORT: Label.ABORT,
}
_MODES = {Request.MODE_VLA: Mode.VLA, Request.MODE_RL: Mode.RL, Request.MODE_HUMAN: Mode.HUMAN}


class PhaseMachine:
    """Answers requests and gives the operator's word for every observation.

    rl_gate: says whether the learned actor may drive, and what it waits for. debounce_ns: in time of observations.
    objection: why a request that is possible here cannot be granted all the same, empty if it can.
    An episode goes IDLE or LABELLED -> (reset) -> APPROACH -> CRITICAL -> LABELLED. With a plan for the next episode
    the reset follows a label by itself, unless the plan does without; without a plan the arm holds until the operator
    asks. An episode that needs no reset begins when the operator asks for the mode that drives its approach. A pause
    keeps the arm from that reset until the operator asks for it or for the next episode; asked for during a reset it
    lets the arm arrive and hold there.
    """

    def __init__(
        self,
        rl_gate: Callable[[], tuple[bool, str]],
        debounce_ns: int = DEBOUNCE_NS,
        objection: Callable[[Request], str] = lambda request: "",
    ) -> None:
        self._rl_gate, self._objection = rl_gate, objection
        self._debounce = debounce_ns
        self._modes: OrderedDict[int, PolicyMode] = OrderedDict()
        self._events: list[EpisodeEvent] = []
        self._pressed: dict[Request, int] = {}
        self._mode, self._phase, self._phase_id, self._episode = Mode.HOLD, Phase.IDLE, 0, 0
        self._plan, self._next = EpisodePlan(), None
        self._begin, self._label = False, Label.NONE
        self._intervened, self._stopped, self._paused, self._waits = False, False, False, False

    @property
    def phase(self) -> Phase:
        """Phase at the newest observation."""
        return self._phase

    @property
    def phase_id(self) -> int:
        """Running number of the critical phase under way or ended last, 0 before the first."""
        return self._phase_id

    @property
    def mode(self) -> Mode:
        """Who is asked to drive from the next observation on."""
        return self._mode

    @property
    def intervened(self) -> bool:
        """A person drove in this episode: an evaluation episode is then invalid (field report B57)."""
        return self._intervened

    @property
    def paused(self) -> bool:
        """No episode follows by itself."""
        return self._paused

    @property
    def planned(self) -> EpisodePlan | None:
        """Plan of the next episode, None where the one under way was planned last."""
        return self._next

    @property
    def may_go_on(self) -> bool:
        """Whether the next episode's reset may follow a label without being asked for."""
        return not self._stopped and not self._paused

    def take_up(self, phase_id: int, critical: bool) -> None:
        """Go on in the place of a machine that was lost, before the first observation: a phase that was under way is
        aborted, and the arm holds until somebody asks for something. phase_id: of that phase, or of the last one.
        """
        self._phase_id, self._stopped = phase_id, True
        if critical:
            self._phase, self._label = Phase.CRITICAL, Label.ABORT

    def plan(self, plan: EpisodePlan | None) -> None:
        """Give the plan of the next episode. After a label it starts the reset, unless the operator stopped the arm or
        asked for a pause.
        """
        self._next = plan
        if plan is not None and plan.reset and self._phase is Phase.LABELLED and self.may_go_on:
            self._mode = Mode.RESET

    def request(self, request: Request) -> Answer:
        """Ask for something. Stop is always accepted; everything else may be refused, with the reason."""
        if request is Request.MODE_HOLD:
            self._mode, self._stopped = Mode.HOLD, True
            return Answer(True, "the arm holds")
        refusal = self._refusal(request) or self._objection(request)
        if refusal:
            return Answer(False, refusal)
        self._pressed[request] = self._stamp
        return self._accept(request)

    def observe(self, observation_id: int, stamp: int, episode: int, executed: ExecutedStep | None) -> PolicyMode:
        """The operator's word for an observation (stamp in ns); the same again for a repeated one.

        episode: of the observation. executed: newest executed step known, None before the first. Raises ValueError on
        an observation older than those remembered.
        """
        known = self._modes.get(observation_id)
        if known is not None:
            return known
        newest = next(reversed(self._modes), 0)
        if observation_id < newest:
            raise ValueError(f"observation {observation_id} came after observation {newest}")
        self._follow(episode, executed)
        self._apply(observation_id, stamp)
        word = self._word(observation_id, stamp)
        self._modes[observation_id] = word
        if len(self._modes) > _KEPT_MODES:
            self._modes.popitem(last=False)
        return word

    def events(self) -> list[EpisodeEvent]:
        """Ends of critical phases since the last call."""
        drained, self._events = self._events, []
        return drained

    @property
    def _stamp(self) -> int:
        return next(reversed(self._modes.values())).stamp if self._modes else 0

    def _refusal(self, request: Request) -> str:
        if self._mode is Mode.RESET and request is not Request.PAUSE:
            return f"{request.value}: a reset is in progress; only a stop can interrupt it"
        last = self._pressed.get(request)
        if last is not None and self._modes and self._stamp - last < self._debounce:
            return f"{request.value}: pressed twice within {self._debounce / 1e9:.2f} s"
        if request is Request.BEGIN:
            return self._refuse_begin()
        if request in _LABELS:
            return self._refuse_label(request)
        if request in _OTHERS:
            return _OTHERS[request](self)
        return self._refuse_mode(_MODES[request])

    def _refuse_begin(self) -> str:
        if self._phase is Phase.CRITICAL or self._begin:
            return f"begin: critical phase {self._phase_id + self._begin} has begun already"
        under_way = self._phase is Phase.APPROACH
        return "" if under_way else f"begin: no episode is under way ({self._phase.name}); reset first"

    def _refuse_label(self, request: Request) -> str:
        if self._phase is not Phase.CRITICAL:
            return f"{request.value}: no critical phase is under way ({self._phase.name})"
        if self._label is not Label.NONE:
            return f"{request.value}: critical phase {self._phase_id} is labelled {self._label.name} already"
        return ""

    def _refuse_reset(self) -> str:
        critical = self._phase is Phase.CRITICAL and self._label is Label.NONE
        return "reset: a critical phase is under way; label, discard or abort it first" if critical else ""

    def _refuse_pause(self) -> str:
        return "pause: there is a pause already; next goes on" if self._paused else ""

    def _refuse_next(self) -> str:
        over = self._phase in (Phase.IDLE, Phase.LABELLED) or self._label is not Label.NONE
        if self._paused or over:
            return ""
        instead = "label it first" if self._phase is Phase.CRITICAL else "begin and label it, or reset"
        return f"next: an episode is under way ({self._phase.name}); {instead}"

    def _refuse_hand_back(self) -> str:
        return "" if self._mode is Mode.HUMAN else f"hand_back: the person does not drive ({self._mode.name})"

    def _refuse_mode(self, mode: Mode) -> str:
        if mode is Mode.HUMAN:
            return ""
        if self._phase is Phase.LABELLED and not self._needs_no_reset():
            return f"{mode.name}: the episode is over; reset first"
        if mode is Mode.VLA:
            return ""
        if self._phase is not Phase.CRITICAL and not self._begin:
            return "RL: the learned actor drives only in a critical phase; begin one first"
        is_open, reason = self._rl_gate()
        return "" if is_open else f"RL: the gate is closed: {reason}"

    def _accept(self, request: Request) -> Answer:
        if request is Request.BEGIN:
            return self._accept_begin()
        if request in _LABELS:
            self._label = _LABELS[request]
            return Answer(True, f"critical phase {self._phase_id}: {self._label.name}")
        if request is Request.PAUSE:
            return self._accept_pause()
        if request is Request.NEXT:
            return self._accept_next()
        if request is Request.HAND_BACK:
            return self._accept_hand_back()
        self._stopped, self._waits = False, False
        if request is Request.RESET:
            self._paused, self._mode = False, Mode.RESET
            return Answer(True, "reset")
        self._mode = _MODES[request]
        self._pressed.pop(Request.HAND_BACK, None)
        return Answer(True, f"{self._mode.name} drives")

    def _accept_pause(self) -> Answer:
        self._paused = True
        if self._mode is Mode.RESET:
            return Answer(True, "pause after this reset")
        if self._phase in (Phase.IDLE, Phase.LABELLED):
            return Answer(True, "pause: the arm holds until next or reset is asked for")
        return Answer(True, "pause after this episode's label")

    def _accept_next(self) -> Answer:
        paused, self._paused = self._paused, False
        if self._waits:
            self._waits, self._stopped, self._mode = False, False, self._plan.approach
            return Answer(True, f"the episode goes on, {self._mode.name} drives")
        if self._label is not Label.NONE:
            self._stopped = False
            return Answer(True, "the next episode follows")
        if paused and self._phase in (Phase.APPROACH, Phase.CRITICAL):
            return Answer(True, "no pause after this episode")
        self._stopped = False
        plan = self._next or EpisodePlan()
        self._mode = Mode.RESET if plan.reset else plan.approach
        return Answer(True, "next episode: reset" if plan.reset else f"next episode, {self._mode.name} drives")

    def _accept_begin(self) -> Answer:
        self._begin, self._waits = True, False
        driver, note = self._planned_driver()
        if self._mode in (Mode.VLA, Mode.RL):
            self._mode = driver
        return Answer(True, f"critical phase {self._phase_id + 1} begins, {self._mode.name} drives{note}")

    def _accept_hand_back(self) -> Answer:
        # A deadman that is let go and pressed again at once is no bounce.
        self._pressed.pop(Request.MODE_HUMAN, None)
        if self._phase in (Phase.IDLE, Phase.LABELLED):
            # A reset that followed by itself would surprise whoever has just put the scene in order.
            self._mode = Mode.HOLD
            return Answer(True, "no episode is under way: the arm holds until next or reset is asked for")
        self._mode, note = self._planned_driver()
        return Answer(True, f"{self._mode.name} drives{note}")

    def _planned_driver(self) -> tuple[Mode, str]:
        """Who drives here by the plan, and why it is somebody else."""
        if self._phase is not Phase.CRITICAL and not self._begin:
            return self._plan.approach, ""
        is_open, reason = self._rl_gate() if self._plan.policy is Mode.RL else (True, "")
        return (self._plan.policy, "") if is_open else (Mode.VLA, f" (the gate is closed: {reason})")

    def _follow(self, episode: int, executed: ExecutedStep | None) -> None:
        reset = executed is not None and executed.reset_done and executed.episode == self._episode
        # In real time an observation may be older than the news of the reset.
        changed = episode > self._episode and bool(self._modes)
        if reset or changed:
            self._start(max(episode, self._episode + reset))
        elif not self._modes:
            self._episode = episode

    def _start(self, episode: int) -> None:
        if self._phase is Phase.CRITICAL:
            # Whoever reset the robot did not end the phase: its last step is followed by another episode's image.
            self._label = Label.DISCARD
            self._end_phase(next(reversed(self._modes)) + 1, self._stamp)
        self._episode = episode
        self._plan, self._next = self._next or EpisodePlan(), None
        self._phase, self._begin, self._intervened = Phase.APPROACH, False, False
        resets = self._mode is Mode.RESET
        self._waits = resets and self._paused
        self._mode = self._plan.approach if resets and not self._waits else Mode.HOLD

    def _needs_no_reset(self) -> bool:
        """Whether the next episode may begin here: the first one, or one that is planned so."""
        return self._phase is Phase.IDLE or (
            self._phase is Phase.LABELLED and self._next is not None and not self._next.reset
        )

    def _apply(self, observation_id: int, stamp: int) -> None:
        if self._begin:
            self._begin, self._phase = False, Phase.CRITICAL
            self._phase_id += 1
        if self._label is not Label.NONE:
            self._end_phase(observation_id, stamp)
            resets = self._next is not None and self._next.reset and self.may_go_on
            self._mode = Mode.RESET if resets else Mode.HOLD
        elif self._needs_no_reset() and self._mode is (self._next or EpisodePlan()).approach:
            # The person has prepared the scene by hand: an episode without a reset.
            self._plan, self._next, self._phase = self._next or EpisodePlan(), None, Phase.APPROACH
            self._intervened = False
        self._intervened |= self._mode is Mode.HUMAN

    def _end_phase(self, observation_id: int, stamp: int) -> None:
        self._events.append(EpisodeEvent(observation_id, stamp, self._episode, self._phase_id, self._label))
        self._phase, self._label = Phase.LABELLED, Label.NONE

    def _word(self, observation_id: int, stamp: int) -> PolicyMode:
        critical, plan = self._phase is Phase.CRITICAL, self._plan
        return PolicyMode(
            observation_id=observation_id,
            stamp=stamp,
            mode=self._mode,
            phase=self._phase,
            phase_id=self._phase_id if critical else 0,
            episode=self._episode,
            explore=plan.explore and critical,
            record=plan.record and critical,
            evaluation=plan.evaluation,
            reset_seed=self._next.reset_seed if self._next else -1,
            reset_start=_values(self._next.reset_start) if self._next else (),
        )


def _values(pose: Pose | None) -> tuple[float, ...]:
    return () if pose is None else (*map(float, pose.position), *map(float, pose.quaternion))


_OTHERS = {
    Request.RESET: PhaseMachine._refuse_reset,
    Request.PAUSE: PhaseMachine._refuse_pause,
    Request.NEXT: PhaseMachine._refuse_next,
    Request.HAND_BACK: PhaseMachine._refuse_hand_back,
}
