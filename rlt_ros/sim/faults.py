"""What can go wrong with a simulated robot: kinds of faults, and when each is there. Times in s of robot time.

`sim.fault_effects` says what a fault does to state, pictures and clock.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

STREAMS = ("joint_states", "current_pose", "external_wrench", "gripper_joint_states", "robot_state")
"""State topics of the robot, by their names in the robot config."""
MEASURED = STREAMS[:4]
CAMERA = ("camera",)
"""In place of targets: a fault of cameras, whose names the robot config gives."""


@dataclass(frozen=True)
class Kind:
    """meaning: for people. value: what a request without one means, unit its unit. targets: what may be named; without
    a name all of them are meant. lockstep: it can happen there too, where a missing message only stalls the simulator.
    deaf: the arm follows no command while it lasts.
    """

    meaning: str
    value: float = 0.0
    unit: str = ""
    targets: tuple[str, ...] = ()
    lockstep: bool = False
    deaf: bool = False


KINDS: dict[str, Kind] = {
    "reflex": Kind("robot_mode REFLEX with an error flag; error_recovery ends it", lockstep=True, deaf=True),
    "user_stop": Kind("robot_mode USER_STOPPED, no error flag", lockstep=True, deaf=True),
    "guiding": Kind("robot_mode GUIDING; a person lifts the arm", 0.02, "m/s", lockstep=True, deaf=True),
    "controller_gone": Kind("commands are ignored, robot_mode IDLE", lockstep=True, deaf=True),
    "not_following": Kind("commands are ignored, the state looks normal", lockstep=True, deaf=True),
    "slow_recovery": Kind("error_recovery takes this long", 16.0, "s", lockstep=True),
    "wrench_spike": Kind("this much more external force along z", 60.0, "N", lockstep=True),
    "state_nan": Kind("measurements are NaN", targets=MEASURED, lockstep=True),
    "state_lost": Kind("state topics are silent", targets=STREAMS),
    "gripper_stuck": Kind("fingers stand still, no gripper action ends", lockstep=True),
    "camera_frozen": Kind("the same picture with new stamps", targets=CAMERA, lockstep=True),
    "camera_black": Kind("black pictures", targets=CAMERA, lockstep=True),
    "camera_repeated": Kind("the same picture with the same stamp", targets=CAMERA),
    "camera_gone": Kind("no pictures", targets=CAMERA),
    "latency": Kind("pictures come this much later", 0.3, "s", targets=CAMERA),
    "jitter": Kind("pictures come up to this much later", 0.1, "s", targets=CAMERA),
    "clock_jump": Kind("/clock and all stamps are ahead by this much; negative: behind", 10.0, "s"),
    "clock_stopped": Kind("/clock is silent"),
}
CLEAR = "none"
"""In place of a kind: end every fault."""
_TEXT = re.compile(
    r"(?P<kind>\w+)(?:/(?P<target>\w+))?@(?P<start>[^:=@]+):(?P<seconds>[^:=@]+)(?:=(?P<value>[^:=@]+))?"
)


class FaultRefused(ValueError):
    """A fault that cannot be had; says what can."""


@dataclass(frozen=True)
class Fault:
    """One fault. start: s. seconds: how long, inf until it is cleared. target: stream or camera, empty for all."""

    kind: str
    start: float
    seconds: float = math.inf
    value: float = 0.0
    target: str = ""

    @property
    def end(self) -> float:
        """s."""
        return self.start + self.seconds

    def hits(self, target: str) -> bool:
        """Whether a stream or a camera is meant."""
        return self.target in ("", target)

    def __str__(self) -> str:
        where = f"/{self.target}" if self.target else ""
        return f"{self.kind}{where}@{self.start:g}:{self.seconds:g}={self.value:g}"


class FaultSchedule:
    """Which faults are there at a moment. cameras: names that faults may have as a target."""

    def __init__(self, cameras: Iterable[str], lockstep: bool = False) -> None:
        self._cameras, self._lockstep = tuple(cameras), lockstep
        self._faults: list[Fault] = []

    def plan(self, text: str) -> None:
        """Add faults written as `kind[/target]@start:seconds[=value]`, separated by commas. Raises FaultRefused."""
        for part in filter(None, (part.strip() for part in text.split(","))):
            match = _TEXT.fullmatch(part)
            if match is None:
                raise FaultRefused(f"fault {part!r}; expected kind[/target]@start:seconds[=value], such as reflex@20:3")
            start, seconds, value = (_number(match[name] or "0", name, part) for name in ("start", "seconds", "value"))
            self._add(Fault(match["kind"], start, seconds, value, match["target"] or ""))

    def begin(self, kind: str, seconds: float, value: float, target: str, now: float) -> str:
        """Begin a fault at once, in the place of one of the same kind and target; `none` ends all. seconds: 0 until it
        is cleared. value: 0 for the kind's own. Returns what was done. Raises FaultRefused.
        """
        if kind == CLEAR:
            count, self._faults = len(self._faults), []
            return f"{count} faults cleared"
        return str(self._add(Fault(kind, now, seconds, value, target)))

    def _add(self, fault: Fault) -> Fault:
        fault = self._checked(fault)
        same = (fault.kind, fault.target)
        self._faults = [f for f in self._faults if (f.kind, f.target) != same or f.end <= fault.start]
        self._faults.append(fault)
        return fault

    def _checked(self, fault: Fault) -> Fault:
        kind = KINDS.get(fault.kind)
        if kind is None:
            raise FaultRefused(f"fault {fault.kind!r} is unknown; known are {', '.join(KINDS)} and {CLEAR}")
        if self._lockstep and not kind.lockstep:
            possible = ", ".join(name for name, kind in KINDS.items() if kind.lockstep)
            raise FaultRefused(f"fault {fault.kind!r} needs lockstep:=false; in lockstep there are {possible}")
        for name in ("start", "seconds", "value"):
            if not math.isfinite(number := getattr(fault, name)) or (name != "value" and number < 0):
                raise FaultRefused(f"{name} of fault {fault.kind!r} is {number}; expected a number of 0 or more")
        if fault.value and not kind.unit:
            raise FaultRefused(f"fault {fault.kind!r} takes no value; got {fault.value:g}")
        targets = self._cameras if kind.targets == CAMERA else kind.targets
        if fault.target and fault.target not in targets:
            choice = f"expected one of {', '.join(targets)}" if targets else "it takes none"
            raise FaultRefused(f"target of fault {fault.kind!r} is {fault.target!r}; {choice}")
        return replace(fault, seconds=fault.seconds or math.inf, value=fault.value or kind.value)

    def at(self, now: float) -> tuple[Fault, ...]:
        """Faults at a moment; those that are over are forgotten."""
        self._faults = [fault for fault in self._faults if fault.end > now]
        return tuple(fault for fault in self._faults if fault.start <= now)

    def recover(self, now: float) -> None:
        """The robot has recovered from what error_recovery can end."""
        self._faults = [f for f in self._faults if f.kind != "reflex" or f.start > now]

    def end(self, kind: str) -> None:
        """A kind of fault is over."""
        self._faults = [f for f in self._faults if f.kind != kind]


def _number(text: str, name: str, part: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FaultRefused(f"fault {part!r}: {name} is {text!r}, not a number") from None
