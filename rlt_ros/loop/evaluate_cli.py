"""`rlt evaluate`: a learned policy in the simulator, in one process, also in a world that it was not trained in.

rlt evaluate runs/monday --episodes 100 --evaluations base,final --world peg.clearance=0.0005 random.hole=0.03
rlt evaluate runs/monday --grid 6x5
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlt_ros.loop.evaluation import Evaluator
from rlt_ros.loop.parts import TRAINED, Parts, real_parts
from rlt_ros.loop.report import score_lines, write_json
from rlt_ros.loop.session import chosen_evaluations
from rlt_ros.loop.settings import Settings, from_arguments, settings
from rlt_ros.sim.grid import Grid
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS, changed_world
from rlt_ros.strict import read_mapping

POLICY, SETTINGS = "policy.safetensors", "settings.json"


@dataclass(frozen=True)
class Origin:
    """Where a policy comes from. policy: its file. checkpoint, task, robot_config, z: as in its run's settings."""

    policy: Path
    checkpoint: str
    task: str
    robot_config: str
    z: str = TRAINED

    @staticmethod
    def of(args: argparse.Namespace) -> Origin:
        """The policy named on the command line, or the one of the run directory named there, with that run's settings.

        Raises ValueError where there is no such file, or nothing says which checkpoint it belongs to.
        """
        run = args.policy if args.policy.is_dir() else args.policy.parent
        policy = run / POLICY if args.policy.is_dir() else args.policy
        if not policy.is_file():
            raise ValueError(f"{policy}: no such file; expected a run directory or its {POLICY}")
        told = read_mapping(run / SETTINGS) if (run / SETTINGS).exists() else {}
        checkpoint = args.checkpoint or told.get("checkpoint", "")
        if not checkpoint:
            raise ValueError(f"{run} has no {SETTINGS} that names its Stage-1 checkpoint: --checkpoint DIR")
        robot_config = args.robot_config or told.get("robot_config", "")
        task, z = args.task or told.get("task", DEFAULT_TASK), told.get("z", TRAINED)
        return Origin(policy, checkpoint, task, robot_config, z)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point. Exit code 0, or 1 with the reason on standard error."""
    args = parser().parse_args(argv)
    try:
        summary = evaluate(args)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    if args.out is not None:
        write_json(args.out, summary)
    print(json.dumps(summary, indent=2) if args.json else "\n".join(score_lines(summary)), flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt evaluate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("policy", type=Path, help=f"run directory, or its {POLICY}")
    add("--evaluations", type=_names, default=("base", "final"), help="with commas between (default: base,final)")
    add("--episodes", type=int, default=100, help="of each evaluation (default: 100)")
    add("--seed", type=int, default=1, help="of start states, VLA and noise (default: 1)")
    add("--checkpoint", default="", help="Stage-1 checkpoint (default: the run's)")
    add("--task", choices=list(TASKS), help=f"what is simulated (default: the run's, else {DEFAULT_TASK})")
    add("--robot-config", default="", help="robot config YAML (default: the run's)")
    add("--world", nargs="+", default=[], metavar="NAME=VALUE", help="changes of the simulated world")
    add("--grid", type=_grid, metavar="6x5", help="start states with the hole on a grid, an episode for each point")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="one setting of loop or operator")
    add("--out", type=Path, help="JSON file for the result")
    add("--json", action="store_true", help="print it as JSON")
    return result


def evaluate(args: argparse.Namespace) -> dict[str, Any]:
    """Name of each evaluation -> scores, and what they belong to. Raises ValueError, and what loading raises."""
    from rlt_ros.rl.weights import UNTRAINED, is_untrained, read_policy_file

    origin, evaluations = Origin.of(args), chosen_evaluations(args.evaluations)
    world = changed_world(origin.task, args.world)
    chosen = settings([from_arguments(args.set)], {})
    made_of = {"task": origin.task, "operator": chosen.operator, "world": world, "z": origin.z, "grid": args.grid}
    parts = real_parts(origin.checkpoint, origin.robot_config, args.seed, **made_of)
    weights = read_policy_file(origin.policy, parts.learner.contract)
    if is_untrained(weights):
        print(f"evaluate: {origin.policy} has {UNTRAINED}", file=sys.stderr, flush=True)
    scores = _evaluator(parts, chosen, args).scores(evaluations, parts.load(weights))
    return {"policy": str(origin.policy), "task": origin.task, "world": args.world, **_where(args), **scores}


def _where(args: argparse.Namespace) -> dict[str, Any]:
    grid = {"grid": f"{args.grid.columns}x{args.grid.rows}"} if args.grid else {}
    return {"seed": args.seed} | grid


def _evaluator(parts: Parts, chosen: Settings, args: argparse.Namespace) -> Evaluator:
    episodes = args.grid.size if args.grid else args.episodes
    wanted = {"eval_episodes": episodes, "seed": args.seed, "control_rate": parts.robot.control_rate}
    return Evaluator(parts, replace(chosen.session, **wanted), chosen.loop)


def _grid(text: str) -> Grid:
    try:
        return Grid.of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))
