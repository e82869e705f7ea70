"""Batches with LeRobot's keys for a tiny policy, and a mixer that gives them."""

from __future__ import annotations

import torch

from rlt_ros.lerobot.algorithm import RLTAlgorithm
from rlt_ros.lerobot.config import RLTConfig
from rlt_ros.lerobot.policy import RLTPolicy
from rlt_ros.rl.config import AgentConfig
from rlt_ros.token.config import FitConfig, TokenConfig

ROWS, C, A, P, D = 8, 4, 3, 5, 6
KINDS = ("IMAGE",) * 4 + ("INSTRUCTION", "STATE")


def config(**agent) -> RLTConfig:
    """A tiny policy; keywords are fields of AgentConfig."""
    settings = {"chunk": C, "passthrough": (2,), "hidden": 16, "batch": ROWS, "actor_after": 0, "seed": 3} | agent
    return RLTConfig(
        embed_width=D, kinds=KINDS, proprio=P, action=A, agent=AgentConfig(**settings),
        token=TokenConfig(dim=4, width=16, heads=2, narrow=4), fit_token=FitConfig(steps=40, batch=ROWS, rate=3e-3),
    )  # fmt: skip


def algorithm(**agent) -> RLTAlgorithm:
    """A new algorithm with a policy of its own."""
    made = config(**agent)
    return RLTAlgorithm(policy=RLTPolicy(made), config=made)


def observation(draw: torch.Generator, rows: int = ROWS) -> dict:
    return {
        "observation.vla_embeddings": torch.randn(rows, len(KINDS), D, generator=draw),
        "observation.state": torch.randn(rows, P, generator=draw),
    }


def chunk(draw: torch.Generator, rows: int = ROWS) -> torch.Tensor:
    return torch.rand(rows, C, A, generator=draw) * 1.8 - 0.9


def batch(seed: int = 0) -> dict:
    """Every key that is understood: rows of full and short windows, terminated and truncated ones, human steps."""
    draw = torch.Generator().manual_seed(seed)
    rewards = torch.zeros(ROWS, C)
    rewards[0, 1] = 1.0
    return {
        "state": observation(draw),
        "next_state": observation(draw),
        "action": chunk(draw),
        "reward": rewards,
        "done": torch.tensor([1.0] + [0.0] * (ROWS - 1)),
        "truncated": torch.tensor([0.0, 1.0] + [0.0] * (ROWS - 2)),
        "complementary_info": {
            "reference_action": chunk(draw),
            "next_reference_action": chunk(draw),
            "valid_horizon": torch.tensor([2, 3] + [C] * (ROWS - 2)),
            "is_intervention": torch.rand(ROWS, C, generator=draw) < 0.3,
        },
    }


def batches(first: int = 0):
    """Another one each time, for ever."""
    while True:
        yield batch(first)
        first += 1


def acting(seed: int = 100) -> dict:
    """What a policy is asked with."""
    draw = torch.Generator().manual_seed(seed)
    return observation(draw) | {"observation.reference_action": chunk(draw)}


class Mixer:
    """The part of LeRobot's DataMixer that an algorithm asks for; remembers how it was asked."""

    def get_iterator(self, batch_size: int, async_prefetch: bool = True, queue_size: int = 2):
        self.asked = (batch_size, async_prefetch, queue_size)
        return batches()
