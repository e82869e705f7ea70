"""The tasks of the simulator: a world, and the systematic error of the person who demonstrates in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from rlt_ros.sim.config import BoardConfig, PegConfig, RandomConfig, SensorConfig, SimConfig
from rlt_ros.sim.expert import DemonstratorConfig
from rlt_ros.strict import ConfigError, build, value_of

DEFAULT_TASK = "peg"


@dataclass(frozen=True)
class Task:
    """What is to be done, and how the demonstrations of it are wrong: what the policy cloned from them inherits."""

    demonstrator: DemonstratorConfig  # errors of the demonstrator; who helps in practice has none
    sim: SimConfig = field(default_factory=SimConfig)  # the world


TASKS = {
    # A constant error: the same correction everywhere undoes it.
    "peg": Task(DemonstratorConfig(bias=(0.0031, -0.0018), episode_error=0.0005, chunk_error=0.0015, noise=0.1)),
    # An error towards a mark on the board that may lie in any direction: who cannot see the mark cannot undo it. The
    # wrench is about as noisy as a real arm's: with less noise the torque of a stuck peg tells the direction.
    "yaw_mark": Task(
        DemonstratorConfig(bias=(0.0, 0.0), mark_error=0.0035, episode_error=0.0005, chunk_error=0.0007, noise=0.05),
        SimConfig(
            board=BoardConfig(mark=(0.028, 0.050)),
            sensors=SensorConfig(force_noise=1.0, torque_noise=0.1),
        ),
    ),
    # A plug and its socket: it must be turned, and it comes to rest on the one rim or on the other, for no reason that
    # shows before. The wrench is as noisy as in `yaw_mark`.
    "connector": Task(
        DemonstratorConfig(bias=(0.0, 0.0), side_error=0.0032, episode_error=0.0005, chunk_error=0.0015, noise=0.1),
        SimConfig(
            peg=PegConfig(shape="rectangular", clearance=0.0008),
            random=RandomConfig(yaw=0.25),
            sensors=SensorConfig(force_noise=1.0, torque_noise=0.1),
        ),
    ),
}
"""By name. `token.cache` has the content of one task in its key, so tuning one leaves the checkpoints of the others."""


def changed_world(task: str, assignments: Sequence[str]) -> SimConfig:
    """The world of a task with some of its parameters changed: `random.hole=0.03`. Raises ConfigError."""
    values = asdict(find_task(task).sim)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        *sections, last = name.split(".")
        place = values
        for section in sections:
            place = place.get(section, {}) if isinstance(place, dict) else {}
        if not equals or not isinstance(place, dict) or last not in place or isinstance(place[last], dict):
            raise ConfigError(f"{assignment}: expected SECTION.NAME=VALUE with a parameter of the simulated world")
        place[last] = value_of(text)
    return build(SimConfig, values, "world")


def find_task(name: str) -> Task:
    """The task of a name. Raises ValueError naming those that there are."""
    if name not in TASKS:
        raise ValueError(f"task is {name!r}; known are {', '.join(TASKS)}")
    return TASKS[name]
