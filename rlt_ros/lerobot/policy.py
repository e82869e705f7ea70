"""What acts: the RL token and the actor, as LeRobot's `policy`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlt_ros.lerobot import observations
from rlt_ros.lerobot.batches import bounded
from rlt_ros.lerobot.config import RLTConfig
from rlt_ros.lerobot.fields import expect, finite
from rlt_ros.rl.agent import Agent, load_strictly
from rlt_ros.rl.algorithms import make_actor
from rlt_ros.rl.config import AgentConfig
from rlt_ros.tensor import Tensor, nn, torch
from rlt_ros.token.checkpoint import load_stage1
from rlt_ros.token.model import RLToken

ACTORS = ("actor", "ema")
ENCODER = "rl_token_encoder"
DECODER = ("widen.", "spread.", "context.", "no_context", "target_position", "decoder.", "head.")
"""Beginnings of the names in `RLToken` that only the reconstruction needs."""


class RLTPolicy(nn.Module):
    """token: encoder and decoder. actor and its running average ema: those of an agent from `join` on.

    The VLA is not in it: its tokens and its reference chunk come with every observation (`observations`).
    """

    def __init__(self, config: RLTConfig) -> None:
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.agent.seed)
            self.token = RLToken(config.token, config.embed_width, config.token_kinds)
        generator = torch.Generator().manual_seed(config.agent.seed)
        self.actor = make_actor(config.agent, config.dims, generator)
        self.ema = copy.deepcopy(self.actor).requires_grad_(False)
        self.to(config.agent.device)

    @staticmethod
    def from_stage1(checkpoint: Path | str, agent: AgentConfig) -> RLTPolicy:
        """A policy with the trained token of a Stage-1 checkpoint; it has no offline phase left.

        Raises CheckpointError, ContractMismatch, or ValueError if the agent's chunk is not the checkpoint's.
        """
        stage1 = load_stage1(checkpoint)
        contract, vla = stage1.contract, stage1.vla
        if agent.chunk != contract.chunk:
            raise ValueError(f"agent.chunk is {agent.chunk}; {checkpoint} was made for {contract.chunk}")
        policy = RLTPolicy(
            RLTConfig(
                embed_width=vla.width,
                kinds=tuple(kind.name for kind in vla.token_kinds(contract.instruction)),
                proprio=len(contract.proprio_names),
                action=len(contract.action_names),
                agent=agent,
                token=stage1.token.config,
            )
        )
        policy.token.load_state_dict(stage1.token.state_dict())
        return policy

    @torch.no_grad()
    def predict_action_chunk(self, batch: Mapping[str, Any], evaluation: bool = False) -> Tensor:
        """Mean chunks (B, C, A) in [-1, 1] for observations; passed-through dimensions are the reference's.

        evaluation: by the averaged actor. Exploration noise is the caller's. Raises BatchError.
        """
        state = finite("state", self.state(batch))
        reference = observations.reference(batch, observations.REFERENCE, self.config)
        shape = (len(state), self.config.agent.chunk, self.config.action)
        chunk = bounded(observations.REFERENCE, expect(observations.REFERENCE, reference, shape)).clone()
        free = list(self.config.agent.policy_dims(self.config.dims))
        chunk[:, :, free] = (self.ema if evaluation else self.actor)(state, chunk[:, :, free])
        return chunk

    @torch.no_grad()
    def state(self, observation: Mapping[str, Any]) -> Tensor:
        """What actor and critics see, (B, Z + P): z_rl without a gradient and proprioception; zeros for z_rl without
        `agent.use_z`. Raises BatchError.
        """
        z = observations.stored_z(observation, self.config)
        if z is None:
            prefix = observations.prefix(observation, self.config)
            z = self.token.encode(prefix.tokens, prefix.mask, prefix.kinds)
        seen = z if self.config.agent.use_z else torch.zeros_like(z)
        return torch.cat([seen, observations.proprio(observation, self.config, len(z))], dim=1)

    def join(self, agent: Agent) -> None:
        """Give an agent this policy's actors, then act with the agent's, on its device: they are the same from here on.

        Raises ValueError naming a tensor whose shape differs.
        """
        own = {f"{part}.{name}": t for part in ACTORS for name, t in getattr(self, part).state_dict().items()}
        agent.load_tensors(agent.tensors() | own)
        self.actor, self.ema = agent.actor, agent.ema
        self.config = replace(self.config, agent=agent.config)
        self.to(agent.config.device)

    def acting_tensors(self) -> dict[str, dict[str, Tensor]]:
        """The part of this policy that `predict_action_chunk` reads, by LeRobot's names of the parts: not copies."""
        encoder = {name: t for name, t in self.token.state_dict().items() if not name.startswith(DECODER)}
        return {part: getattr(self, part).state_dict() for part in ACTORS} | {ENCODER: encoder}

    def load_acting_tensors(self, parts: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Take over what `acting_tensors` gave, in place. Raises ValueError naming what is missing or does not fit."""
        own = self.acting_tensors()
        _same_names("weights", own, parts)
        for part, tensors in own.items():
            _same_names(part, tensors, parts[part])
            module = self.token if part == ENCODER else getattr(self, part)
            load_strictly(module, {**module.state_dict(), **parts[part]}, part)


def _same_names(where: str, own: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    missing, unknown = sorted(set(own) - set(given)), sorted(set(given) - set(own))
    if missing or unknown:
        raise ValueError(f"{where}: missing {missing}, unknown {unknown}")
