"""A process that saves one checkpoint after the other until it is killed: python save_for_ever.py DIRECTORY."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from synthetic import CONTRACT, DIMS, rows, small_config

from rlt_ros.rl.checkpoint import save_checkpoint
from rlt_ros.rl.config import Dims
from rlt_ros.rl.learner import Learner

CONFIG = small_config(replay_capacity=128)
WIDE = Dims(z=20_000, proprio=DIMS.proprio, action=DIMS.action)
"""10 MB of replay: most of a save is writing."""


def learner() -> Learner:
    """Without rows."""
    return Learner(CONFIG, WIDE, CONTRACT, 5.0)


def main() -> None:
    """Save until killed."""
    subject = learner()
    for row in rows(CONFIG.replay_capacity):
        wide = tuple(replace(f, z=np.resize(f.z, WIDE.z)) for f in row.features)
        subject.add([replace(row, features=wide)])
    while True:
        save_checkpoint(Path(sys.argv[1]), subject, keep=2)


if __name__ == "__main__":
    main()
