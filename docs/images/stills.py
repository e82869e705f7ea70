"""Draws still-vla.png and still-learned.png: how the same start state ends with the VLA and with what was learned.

python docs/images/stills.py RUN, a run directory of `rlt fast` or of Stage 2 in the simulator.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from rlt_ros.loop.evaluate_cli import Origin
from rlt_ros.loop.evaluate_cli import parser as evaluate_parser
from rlt_ros.loop.evaluation import Evaluator
from rlt_ros.loop.inprocess import InProcess
from rlt_ros.loop.parts import real_parts
from rlt_ros.loop.session import chosen_evaluations
from rlt_ros.loop.settings import settings
from rlt_ros.rl.weights import read_policy_file
from rlt_ros.sim.cameras import Photographer

EPISODES, SIDE, SEED = 12, 360, 77
NAMES = {"base": "still-vla", "final": "still-learned"}


def main(run: Path) -> None:
    """Evaluate both on the same start states and photograph each end; keep the first on which they differ."""
    origin = Origin.of(evaluate_parser().parse_args([str(run)]))
    parts = real_parts(origin.checkpoint, origin.robot_config, SEED, task=origin.task)
    photographer = Photographer(parts.world.model, SIDE, SIDE, fine=True)
    ends: dict[str, list[tuple[str, np.ndarray]]] = {name: [] for name in NAMES}

    def photograph(loop: InProcess) -> None:
        ends[loop.result.stage].append((loop.result.label, photographer.picture(parts.world.data, "front")))

    wanted = {"eval_episodes": EPISODES, "seed": SEED, "control_rate": parts.robot.control_rate}
    session = replace(settings([], {}).session, **wanted)
    evaluator = Evaluator(parts, session, settings([], {}).loop, photograph)
    weights = read_policy_file(origin.policy, parts.learner.contract)
    evaluator.scores(chosen_evaluations(tuple(NAMES)), parts.load(weights))
    labels = list(zip(*([label for label, _ in ends[name]] for name in NAMES)))
    chosen = labels.index(("FAILURE", "SUCCESS"))
    for name, file in NAMES.items():
        cv2.imwrite(str(Path(__file__).with_name(f"{file}.png")), ends[name][chosen][1][:, :, ::-1])
    print(f"start state {chosen} of {EPISODES}: VLA {labels[chosen][0]}, learned {labels[chosen][1]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
