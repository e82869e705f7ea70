"""`rlt fast`: the agent, the loop and the simulator of Stage 2 in one process, without ROS.

Same seed and settings: the same rows and weights, and with --exact those of the lockstep graph. Ctrl-C ends the run
after the control step and the update under way: what there is by then is saved and reported, exit code 130; a second
one ends it at once.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlt_ros.data.contract import read_contract
from rlt_ros.loop.parts import TRAINED, UNTRAINED, Z, real_parts
from rlt_ros.loop.practice import Practice, Wishes
from rlt_ros.loop.record import Record, refuse_used
from rlt_ros.loop.report import summary_text, write_json
from rlt_ros.loop.settings import Settings, Values, from_arguments, from_file, settings
from rlt_ros.rl.trainer import EXIT_CODE, TrainingFailed
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.tasks import DEFAULT_TASK, TASKS
from rlt_ros.token.cache import cached_stage1

INTERRUPTED = 130
MINUTES = 7.0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point. Exit code 0; with the reason on standard error 1, or 3 if training has failed; 130 after Ctrl-C."""
    args = parser().parse_args(argv)
    try:
        return _run(args)
    except TrainingFailed as error:
        print(f"fast: {error}", file=sys.stderr)
        return EXIT_CODE
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"fast: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("fast: interrupted", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="rlt fast", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("--checkpoint", default="", help="Stage-1 checkpoint (default: the demo's, trained first unless it is cached)")
    add("--z", choices=Z, default=TRAINED, help="what the agent gets as z_rl, for comparisons: docs/learning.md")
    add("--task", choices=list(TASKS), default=DEFAULT_TASK, help=f"what is simulated (default: {DEFAULT_TASK})")
    add("--robot-config", default="", help="robot config YAML (default: the FR3's)")
    add("--device", default="cpu", help="of torch, for VLA and RL token, such as cuda (default: cpu)")
    add("--vla-url", default="", help="ws://host:port of a VLA server instead of the checkpoint's own VLA")
    add("--minutes", type=float, help=f"practice, minutes of robot time (default: last moment, or {MINUTES:g})")
    add("--moments", type=_numbers, default=(), metavar="7,19", help="evaluate at these minutes too, then go on")
    add("--eval-episodes", type=int, default=50, help="of each evaluation (default: 50)")
    add("--dither", type=_numbers, default=(), metavar="0.05,0.1", help="evaluate the VLA with noise of these sigmas")
    add("--expert", action="store_true", help="evaluate the scripted expert on the same start states")
    add("--no-base", action="store_true", help="do not evaluate the unlearned VLA at the end")
    add("--exact", action="store_true", help="one VLA pass at a time, slower: bit for bit the lockstep graph")
    add("--seed", type=int, default=1, help="of everything (default: 1)")
    add("--run-dir", type=Path, help="new directory for rows, checkpoints, TensorBoard and summary (default: none)")
    add("--params-file", type=Path, help="node parameters of learner, actor and teleop, as for stage2.launch.py")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="one setting of agent, loop or operator")
    add("--json", action="store_true", help="print the summary as JSON")
    return result


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}; expected numbers with commas between them") from None


def _run(args: argparse.Namespace) -> int:
    from_arguments(args.set)  # a misspelt setting is told before minutes of training, and so is a used directory
    if args.run_dir is not None:
        refuse_used(args.run_dir)
    practice = _practice(args)
    with _InterruptedBy(practice.interrupt):
        summary = practice.run()
    if args.run_dir is not None:
        write_json(args.run_dir / "summary.json", summary)
    text = json.dumps(summary, indent=2) if args.json else summary_text(summary, args.run_dir)
    print(text, flush=True)
    return INTERRUPTED if summary["interrupted"] else 0


def _practice(args: argparse.Namespace) -> Practice:
    checkpoint = args.checkpoint or _demo_checkpoint(args.robot_config, args.task, args.z == UNTRAINED)
    chosen = _settings(args, checkpoint)
    wishes = Wishes(args.moments, args.dither, args.expert, args.exact, base=not args.no_base)
    parts = real_parts(
        checkpoint=checkpoint,
        robot_config=args.robot_config,
        seed=args.seed,
        task=args.task,
        agent=chosen.agent,
        operator=chosen.operator,
        device=args.device,
        vla_url=args.vla_url,
        z=args.z,
    )
    if chosen.record.init_weights:
        parts.learner.start_from(Path(chosen.record.init_weights))
    record = None
    if args.run_dir is not None:
        record = Record(args.run_dir, parts.learner, chosen.record, parts.robot.control_rate)
        made_with = {"task": args.task, "checkpoint": checkpoint, "robot_config": args.robot_config, "z": args.z}
        made_with["contract"] = parts.learner.contract
        write_json(args.run_dir / "settings.json", made_with | chosen.as_dict() | {"evaluated": asdict(wishes)})
    return Practice(parts, chosen, wishes, record, lambda line: print(line, file=sys.stderr, flush=True))


def _settings(args: argparse.Namespace, checkpoint: str) -> Settings:
    minutes = args.minutes if args.minutes is not None else max(args.moments, default=MINUTES)
    if any(not 0.0 < moment <= minutes for moment in args.moments):
        raise ValueError(f"--moments {args.moments}: expected minutes above 0 and up to --minutes {minutes:g}")
    session = {"practice_minutes": minutes, "eval_episodes": args.eval_episodes, "seed": args.seed}
    session["control_rate"] = load_robot(args.robot_config).control_rate
    sources: list[dict[str, Values]] = [{"agent": {"chunk": read_contract(checkpoint).chunk}}]
    if args.params_file is not None:
        sources.append(from_file(args.params_file))
    sources.append(from_arguments(args.set))
    return settings(sources, {"agent": {"seed": args.seed}, "session": session})


def _demo_checkpoint(robot_config: str, task: str, untrained: bool) -> str:
    """The one that `stage2.launch.py` uses, or the same with a random encoder; made now if it is not in the cache."""
    from contextlib import redirect_stdout

    from rlt_ros.token import stage1_cli

    options = ["--robot-config", robot_config] if robot_config else []
    options += ["--token", "untrained"] if untrained else []
    with redirect_stdout(sys.stderr):
        failed = stage1_cli.main(["--preset", "demo", "--task", task, *options])
    if failed:
        raise ValueError(f"Stage 1 failed with exit code {failed}")
    return str(cached_stage1("demo", seed=0, robot_config=robot_config, task=task, untrained=untrained))


class _InterruptedBy:
    """The first SIGINT or SIGTERM calls a function, the next one ends the process in the usual way."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._first)

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _first(self, number: int, frame: object) -> None:
        self._restore()
        self._interrupt()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
