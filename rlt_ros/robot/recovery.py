"""Recovery after a reflex, in the three documented steps of franka_ros2 2.4 / 3.3; pure, `nodes.recovery` does it.

What needs recovery: a reflex, an error flag, an arm that does not follow, and a robot that is idle after a motion, a
reflex, a user stop or guiding, whatever its flags say by then: they clear themselves once the arm stands (franka_ros
issues 32, 308), and a robot that no controller commands any more is idle. A robot that is in MOVE without errors has a
running controller, whoever started it: then all is well.
"""

from __future__ import annotations

from enum import Enum, auto

from rlt_ros.robot.sections import Recovery
from rlt_ros.robot.state import RobotMode, RobotState

WORD = "recovery:"
"""How a hold's reason begins while the robot needs recovery."""
FORGIVEN_AFTER = 60_000_000_000
"""ns of health after which attempts of the past no longer count."""
_INTERRUPTING = (RobotMode.REFLEX, RobotMode.USER_STOPPED, RobotMode.GUIDING)
_BY_HAND = (RobotMode.USER_STOPPED, RobotMode.GUIDING)


def needed_by(reason: str) -> bool:
    """Whether a step's reason (parts joined by "; ") says that the robot needs recovery."""
    return any(part.startswith(WORD) for part in reason.split("; "))


class RecoveryStep(Enum):
    """One step; the value is its name for people."""

    CLEAR_ERRORS = "error_recovery"
    ACTIVATE_HARDWARE = "activating the hardware"
    ACTIVATE_CONTROLLERS = "activating the controllers"


_STEPS = tuple(RecoveryStep)


class _Stage(Enum):
    WELL = auto()
    WAITING = auto()
    PAUSING = auto()
    RUNNING = auto()
    SETTLING = auto()


class RecoveryMachine:
    """When to recover, which step is due, and what the operator is told. Times in ns of one steady clock.

    With `confirm` every recovery waits for `confirm()`. Without, it begins `pause` seconds after the fault, and after
    `attempts` of them in a row waits for the operator all the same. A failed step ends the attempt; nothing is repeated
    by itself beyond that.
    """

    def __init__(self, config: Recovery) -> None:
        self._config = config
        self._stage = _Stage.WELL
        self._mode: RobotMode | None = None
        self._interrupted = ""
        self._fault = ""
        self._cause = ""
        self._failure = ""
        self._step = 0
        self._began: int | None = None
        self._attempts = 0
        self._well_since: int | None = None
        self._news: list[str] = []

    @property
    def reason(self) -> str:
        """Why the arm holds, empty while nothing needs recovery."""
        if self._stage is _Stage.WELL:
            return ""
        failed = f", the last attempt failed at {self._failure}" if self._failure else ""
        return f"{WORD} {self._cause}, {self._doing()}{failed}"

    def fault(self, cause: str) -> None:
        """Something outside the robot's own report needs recovery; it does not go away by itself."""
        self._fault = self._fault or cause

    def observe(self, state: RobotState) -> str:
        """Take a measured state; returns `reason`."""
        self._mode = state.mode
        if state.mode in _INTERRUPTING or state.error:
            self._interrupted = state.mode.name if state.mode in _INTERRUPTING else "an error"
        elif state.mode is RobotMode.MOVE and self._stage is _Stage.WELL:
            self._interrupted = state.mode.name
        cause = self._cause_in(state)
        if cause:
            self._fall_ill(cause)
        elif self._stage is _Stage.WELL:
            self._stay_well(state)
        elif self._stage is not _Stage.RUNNING:
            self._get_well(state)
        return self.reason

    def confirm(self) -> tuple[bool, str]:
        """The operator says go; whether it is granted, and what happens or why not."""
        if self._mode in _BY_HAND:
            return False, f"the robot is in {self._mode.name}: release it first"
        if self._stage is _Stage.WELL:
            return False, "nothing needs recovery"
        if self._stage in (_Stage.RUNNING, _Stage.SETTLING):
            return False, f"recovery is under way: {self._doing()}"
        self._attempts, self._failure = 0, ""
        self._run()
        return True, f"recovery begins: {self._cause}"

    def due(self, now: int) -> RecoveryStep | None:
        """The step to begin now, said once; call it regularly, it also ends what takes too long."""
        if self._stage is _Stage.PAUSING:
            self._began = now if self._began is None else self._began
            if now - self._began >= self._config.pause * 1e9 and self._mode not in _BY_HAND:
                self._run()
        if self._stage not in (_Stage.RUNNING, _Stage.SETTLING):
            return None
        if self._began is None:
            self._began = now
            return _STEPS[self._step] if self._stage is _Stage.RUNNING else None
        if now - self._began > self._config.timeout * 1e9:
            self._fail(f"{self._doing()}: no answer within {self._config.timeout:g} s")
        return None

    def finished(self, step: RecoveryStep, ok: bool, message: str = "") -> None:
        """A step has ended; one that was given up before is ignored."""
        if self._stage is not _Stage.RUNNING or _STEPS[self._step] is not step:
            return
        if not ok:
            self._fail(f"{step.value}: {message}")
            return
        self._news.append(f"recovery: {step.value}: done")
        self._step, self._began = self._step + 1, None
        if self._step == len(_STEPS):
            self._stage = _Stage.SETTLING

    def news(self) -> list[str]:
        """What the operator should hear since the last call."""
        drained, self._news = self._news, []
        return drained

    def _cause_in(self, state: RobotState) -> str:
        named = f" ({', '.join(state.errors)})" if state.errors else ""
        if state.mode is RobotMode.REFLEX:
            return f"the robot is in REFLEX{named}"
        if state.error:
            return f"the robot reports an error{named}"
        if self._stage is _Stage.SETTLING:
            return ""
        if state.mode in (RobotMode.IDLE, RobotMode.OTHER) and self._interrupted:
            past = f" ({', '.join(state.motion_errors)})" if state.motion_errors else ""
            return f"the robot is in {state.mode.name} after {self._interrupted}{past}"
        return self._fault

    def _fall_ill(self, cause: str) -> None:
        if self._stage is not _Stage.WELL:
            self._cause = self._cause or cause
            return
        self._cause, self._failure, self._well_since = cause, "", None
        self._wait()
        self._news.append(self.reason)

    def _wait(self) -> None:
        automatic = not self._config.confirm and self._attempts < self._config.attempts
        self._stage, self._began = (_Stage.PAUSING if automatic else _Stage.WAITING), None

    def _stay_well(self, state: RobotState) -> None:
        self._well_since = state.stamp if self._well_since is None else self._well_since
        if not 0 <= state.stamp - self._well_since < FORGIVEN_AFTER:
            self._attempts = 0

    def _get_well(self, state: RobotState) -> None:
        ready = (None, RobotMode.MOVE, RobotMode.IDLE) if self._stage is _Stage.SETTLING else (RobotMode.MOVE,)
        if state.mode not in ready:
            return
        self._news.append(f"recovery: the robot is ready again (it was: {self._cause})")
        self._stage, self._cause, self._fault, self._interrupted, self._failure = _Stage.WELL, "", "", "", ""

    def _run(self) -> None:
        self._attempts += 1
        # Without a report of the robot there is no driver to be recovered: the operator's word is all there is.
        self._stage = _Stage.SETTLING if self._mode is None else _Stage.RUNNING
        self._step, self._began = 0, None

    def _fail(self, failure: str) -> None:
        self._failure = failure
        self._wait()
        self._news.append(f"recovery failed at {failure}, {self._doing()}")

    def _doing(self) -> str:
        if self._stage is _Stage.WAITING:
            return "waiting for the operator to call the service recover"
        if self._stage is _Stage.PAUSING:
            return f"recovery begins within {self._config.pause:g} s"
        if self._stage is _Stage.RUNNING:
            return _STEPS[self._step].value
        return "waiting for the robot to report that it is ready"
