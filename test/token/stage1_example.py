"""A small Stage 1, untrained, and observations for it."""

import numpy as np
import torch

from rlt_ros.data.demos import Demonstration
from rlt_ros.data.norm import NormStats
from rlt_ros.robot.config import load_robot
from rlt_ros.token.checkpoint import Stage1
from rlt_ros.token.config import Stage1Config, TokenConfig
from rlt_ros.token.model import RLToken
from rlt_ros.token.stage1 import make_contract
from rlt_ros.types import PROPRIO_NAMES, Observation
from rlt_ros.vla.config import TinyConfig
from rlt_ros.vla.tiny import TinyVLA

CONFIG = Stage1Config(
    vla=TinyConfig(width=32, layers=1, flow_layers=1, image_size=32),
    token=TokenConfig(dim=8, width=32, layers=1),
)


def small_stage1(seed: int = 0, config: Stage1Config = CONFIG) -> Stage1:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    vla = TinyVLA(config.vla)
    token = RLToken(config.token, vla.width, vla.kinds)
    frames = np.random.default_rng(seed).normal(size=(100, 19))
    norm = NormStats.of(frames * np.linspace(0.01, 10, 19), PROPRIO_NAMES)
    return Stage1(make_contract(config, load_robot(), norm, vla, token), norm, vla.eval(), token.eval())


def observation(number: int = 1, size: int = 32, **changes: object) -> Observation:
    rng = np.random.default_rng(number)
    values = {
        "id": number,
        "stamp": 50_000_000 * number,
        "episode": 3,
        "step": number - 1,
        "images": {c: rng.integers(0, 256, (size, size, 3), dtype=np.uint8) for c in ("front", "wrist")},
        "proprio": rng.normal(size=19).astype(np.float32),
    }
    return Observation(**(values | changes))


def episodes_of(count: int, length: int = 20, size: int = 32, seed: int = 0) -> list[Demonstration]:
    """Made-up episodes: the hole's offset shows as a bright spot, every third episode fails."""
    rng = np.random.default_rng(seed)
    return [_episode(number, length, size, rng) for number in range(count)]


def _episode(number: int, length: int, size: int, rng: np.random.Generator) -> Demonstration:
    offset = np.linspace(rng.uniform(-0.006, 0.006, 2), 0.0, length).astype(np.float32)
    pictures = rng.integers(0, 60, (2, length, size, size, 3), dtype=np.uint8)
    for step, (x, y) in enumerate((size / 2 + offset * 2000).round().astype(int)):
        pictures[:, step, y - 2 : y + 2, x - 2 : x + 2] = 255
    actions = np.zeros((length, 7), np.float32)
    actions[:, :2] = np.clip(offset * 100, -1, 1)
    return Demonstration(
        id=number,
        images={"front": pictures[0], "wrist": pictures[1]},
        proprio=rng.normal(size=(length, 19)).astype(np.float32),
        actions=actions,
        offset=offset,
        success=number % 3 != 0,
    )
