"""A small Stage 1, untrained, and observations for it."""

import numpy as np
import torch

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
