"""Settings of a run in one process: defaults, then the launch file's parameter file, then `name=value`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rlt_ros.loop.config import LoopConfig, RecordConfig
from rlt_ros.loop.session import SessionConfig
from rlt_ros.rl.config import AgentConfig
from rlt_ros.sim.operator import OperatorConfig
from rlt_ros.strict import ConfigError, build, read_mapping, value_of

Values = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """Everything that decides a run, besides the Stage-1 checkpoint and the robot."""

    agent: AgentConfig = field(default_factory=AgentConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)
    session: SessionConfig = field(default_factory=SessionConfig)
    operator: OperatorConfig = field(default_factory=OperatorConfig)
    record: RecordConfig = field(default_factory=RecordConfig)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready, a mapping of each part."""
        return {**asdict(self), "agent": self.agent.as_dict()}


PARTS = {f.name: f.default_factory for f in fields(Settings)}
NODES = {"learner": ("agent", "record"), "actor": ("loop",), "teleop": ("session", "operator")}
"""Nodes of the graph and the parts whose fields are their parameters."""
OF_NODES_ONLY = frozenset({
    "autostart", "checkpoint", "lockstep", "nice", "outbox_bound", "resend_after", "robot_config",
    "policy", "robot_namespace", "run_dir", "scripted", "seed", "teleports", "threads", "use_sim_time", "weights_every",
})  # fmt: skip
"""Parameters of these nodes that say how a node runs and have no meaning in one process."""
GIVEN = {"seed": "--seed", "practice_minutes": "--minutes", "eval_episodes": "--eval-episodes", "control_rate": ""}
"""Settings with an option of their own, or that the robot config decides."""
SAME = {"sigma": "rollout_noise", "rollout_noise": "sigma"}
"""The exploration noise, as the actor node and as the learner call it. Other shared settings share their name too."""


def settings(sources: Iterable[Mapping[str, Values]], fixed: Mapping[str, Values]) -> Settings:
    """Settings from values by part, later sources over earlier ones, `fixed` over all. Raises ConfigError."""
    values: dict[str, Values] = {part: {} for part in PARTS}
    for source in (*sources, fixed):
        for part, given in source.items():
            values[part] |= given
    if values["agent"].get("bootstrap_type") == "always":
        values["loop"].setdefault("outcome_seen", True)
    return Settings(**{part: build(kind, values[part], part) for part, kind in PARTS.items()})


def from_arguments(arguments: Iterable[str]) -> dict[str, Values]:
    """`name=value` arguments as values by part. Raises ConfigError naming what is wrong with one."""
    found: dict[str, Values] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals:
            raise ConfigError(f"--set {argument}: expected name=value")
        if GIVEN.get(name):
            raise ConfigError(f"--set {argument}: use {GIVEN[name]}")
        _assign(found, name, value_of(text), PARTS, f"--set {argument}")
    return found


def from_file(path: Path) -> dict[str, Values]:
    """Parameters of learner, actor and teleop in a file of node parameters, as values by part. Raises ConfigError."""
    found: dict[str, Values] = {}
    for key, section in read_mapping(path).items():
        node, where = key.rsplit("/", 1)[-1], f"{path}: {key}"
        if not isinstance(section, Mapping) or not isinstance(section.get("ros__parameters"), Mapping):
            raise ConfigError(f"{where}: expected a mapping with ros__parameters")
        for name, value in section["ros__parameters"].items():
            if node == "**":
                _assign_if_known(found, name, value, where)
            elif node in NODES and name not in OF_NODES_ONLY - _names(NODES[node]):
                _assign(found, name, value, NODES[node], where)
    return found


def _assign(found: dict[str, Values], name: str, value: Any, parts: Iterable[str], where: str) -> None:
    """A setting that several parts have, such as the stride, is the same for all of them."""
    if name not in _names(parts) or name == "control_rate":
        raise ConfigError(f"{where}: unknown setting {name!r}; known are {', '.join(sorted(_names(parts)))}")
    _assign_if_known(found, name, value, where)


def _assign_if_known(found: dict[str, Values], name: str, value: Any, where: str) -> None:
    for alias in filter(None, (name, SAME.get(name))):
        for part in (part for part in PARTS if alias in _names((part,))):
            values = found.setdefault(part, {})
            if values.get(alias, value) != value:
                raise ConfigError(f"{where}: {name} is {value!r} here and {values[alias]!r} before; expected the same")
            values[alias] = value


def _names(parts: Iterable[str]) -> frozenset[str]:
    return frozenset(f.name for part in parts for f in fields(PARTS[part]))
