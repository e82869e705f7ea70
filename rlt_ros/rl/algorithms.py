"""Which actor and which agent a configuration asks for."""

from __future__ import annotations

from rlt_ros.rl.agent import Agent
from rlt_ros.rl.baselines.sac import GaussianActor, SACAgent
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.graphs import GraphedAgent
from rlt_ros.rl.networks import Actor
from rlt_ros.tensor import torch


def make_actor(config: AgentConfig, dims: Dims, generator: torch.Generator) -> Actor:
    """A new actor of `config.algorithm`."""
    return (GaussianActor if config.algorithm == "sac" else Actor)(config, dims, generator)


def make_agent(config: AgentConfig, dims: Dims) -> Agent:
    """A new agent of `config.algorithm`; with `cuda_graphs` the one that replays its updates from them."""
    if config.algorithm == "sac":
        return SACAgent(config, dims)
    return GraphedAgent(config, dims) if config.cuda_graphs else Agent(config, dims)
