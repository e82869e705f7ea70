"""Stage 1 from nothing to a checkpoint: demonstrations, VLA, token, figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlt_ros.data.contract import FORMAT, Contract, robot_terms
from rlt_ros.data.demos import Demonstration, Frames
from rlt_ros.data.norm import NormStats
from rlt_ros.robot.config import RobotConfig
from rlt_ros.tensor import Tensor, torch
from rlt_ros.token.checkpoint import Stage1, save_stage1, token_identity
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.demonstrate import demonstrations
from rlt_ros.token.model import RLToken
from rlt_ros.token.probe import probe
from rlt_ros.token.progress import Progress
from rlt_ros.token.train_token import encode_all, train_token
from rlt_ros.token.train_vla import embeddings, train_vla
from rlt_ros.types import PROPRIO_NAMES
from rlt_ros.vla.tiny import TinyVLA


def run_stage1(config: Stage1Config, robot: RobotConfig, seed: int, output: Path, recipe: str = "") -> None:
    """Demonstrate in the simulator, train, write the checkpoint directory.

    recipe: kept with the metrics, so that it can be told later what the checkpoint was made from.
    """
    episodes = record(config, robot, seed)
    stage1, metrics = train(config, robot, episodes, seed)
    metrics["demonstrator_success"] = sum(episode.success for episode in episodes) / len(episodes)
    save_stage1(output, stage1, metrics | {"seed": seed, "recipe": recipe})


def record(config: Stage1Config, robot: RobotConfig, seed: int) -> list[Demonstration]:
    """The demonstrations, with progress."""
    progress, episodes = Progress("demonstrations", config.demonstrations), []
    for episode in demonstrations(config, robot, seed):
        episodes.append(episode)
        progress.update(len(episodes))
    return episodes


def train(
    config: Stage1Config, robot: RobotConfig, episodes: Sequence[Demonstration], seed: int
) -> tuple[Stage1, dict[str, float]]:
    """VLA first, then the token on the frozen VLA's embeddings; the same seed gives the same weights on one machine."""
    frames = Frames.of(episodes, config.vla.horizon)
    norm = NormStats.of(frames.proprio, PROPRIO_NAMES)
    proprio = norm.normalise(frames.proprio)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        vla = TinyVLA(config.vla)
        token = RLToken(config.token, vla.width, vla.kinds)
    untrained = RLToken(config.token, vla.width, vla.kinds)
    untrained.load_state_dict(token.state_dict())
    metrics: dict[str, float] = train_vla(vla, frames, proprio, config, seed)
    tokens = embeddings(vla, frames, proprio, config.instruction)
    mask = vla.mask(config.instruction, len(tokens))
    metrics |= train_token(token, tokens, mask, vla.kinds, config, seed)
    encoded = {name: encode_all(m, tokens, mask, vla.kinds) for name, m in (("z", token), ("untrained_z", untrained))}
    metrics |= probes(frames, episodes, proprio, encoded)
    stage1 = Stage1(make_contract(config, robot, norm, vla, token), norm, vla, token)
    return stage1, metrics | {"frames": len(frames)}


def probes(
    frames: Frames, episodes: Sequence[Demonstration], proprio: np.ndarray, encoded: dict[str, Tensor]
) -> dict[str, float]:
    """How well each vector tells the hole's offset near it, mm; nothing where no demonstration has it."""
    if frames.offset is None:
        return {}
    groups = np.concatenate([np.full(len(episode.actions), episode.id) for episode in episodes])
    inputs = {name: z.numpy() for name, z in encoded.items()} | {"proprio": proprio}
    return {f"probe_{name}_mm": probe(values, frames.offset, groups) for name, values in inputs.items()}


def make_contract(config: Stage1Config, robot: RobotConfig, norm: NormStats, vla: TinyVLA, token: RLToken) -> Contract:
    """The contract of freshly trained parts."""
    return Contract(
        format=FORMAT,
        task=config.task,
        cameras=vla.cameras,
        image_size=vla.image_size,
        instruction=config.instruction,
        chunk=config.chunk,
        horizon=vla.horizon,
        token_dim=token.config.dim,
        norm_hash=norm.hash,
        vla=vla.identity,
        token=token_identity(token),
        **robot_terms(robot),
    )
