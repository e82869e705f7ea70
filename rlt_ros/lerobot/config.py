"""One configuration of policy and algorithm: written twice, the two would drift apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rlt_ros.data.contract import compare
from rlt_ros.rl.config import OPERATIONAL, AgentConfig, Dims
from rlt_ros.strict import ConfigError, build
from rlt_ros.token.config import FitConfig, TokenConfig
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES
from rlt_ros.vla.contract import TokenKind

NAME = "rlt"


@dataclass(frozen=True)
class RLTConfig:
    """Sizes of the VLA and the robot, the agent, the RL token and its training."""

    embed_width: int  # D, width of a VLA token
    kinds: tuple[str, ...]  # names in TokenKind of the VLA's tokens, in their order; the INSTRUCTION ones are dropped
    proprio: int = len(PROPRIO_NAMES)  # P, normalised proprioception
    action: int = len(ACTION_NAMES)  # A, action space
    agent: AgentConfig = field(default_factory=AgentConfig)  # actor, critics and their updates
    token: TokenConfig = field(default_factory=TokenConfig)  # RL token; its dim is Z
    fit_token: FitConfig = field(default_factory=lambda: FitConfig(steps=500, batch=64))  # offline updates

    def __post_init__(self) -> None:
        known = [kind.name for kind in TokenKind]
        for i, kind in enumerate(self.kinds):
            if kind not in known:
                raise ValueError(f"kinds[{i}] is {kind!r}; expected one of {known}")
        if self.agent.utd < 1:
            raise ValueError(f"agent.utd is {self.agent.utd}; an update needs at least one batch")

    @property
    def dims(self) -> Dims:
        """Sizes as the agent wants them."""
        return Dims(z=self.token.dim, proprio=self.proprio, action=self.action)

    @property
    def token_kinds(self) -> tuple[TokenKind, ...]:
        """Kind of every token of the VLA."""
        return tuple(TokenKind[kind] for kind in self.kinds)

    def check(self, other: RLTConfig) -> None:
        """Raise ContractMismatch at the first setting that differs and decides what is learned."""
        for part in fields(self):
            if part.name != "agent":
                compare(part.name, getattr(self, part.name), getattr(other, part.name))
        for part in fields(self.agent):
            if part.name not in OPERATIONAL:
                compare(f"agent.{part.name}", getattr(self.agent, part.name), getattr(other.agent, part.name))

    def to_json(self) -> str:
        """The content of `config.json`."""
        return json.dumps({"type": NAME} | asdict(self), indent=1) + "\n"

    @staticmethod
    def from_dict(content: Mapping[str, Any], where: str) -> RLTConfig:
        """The inverse of `to_json`, parsed. Raises ConfigError on another type and on a missing or unknown key."""
        values = dict(content)
        found = values.pop("type", None)
        if found != NAME:
            raise ConfigError(f"{where}: type is {found!r}; expected {NAME!r}")
        return build(RLTConfig, values, where)
