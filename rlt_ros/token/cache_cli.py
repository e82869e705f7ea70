"""`rlt cache`: token embeddings of a dataset under a frozen VLA, made anew for `rlt stage1 --config`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rlt_ros.interrupt import interruptible
from rlt_ros.strict import ConfigError
from rlt_ros.token.config import Stage1File
from rlt_ros.token.stage1_file import read_file


@interruptible()
def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the last line of output is `cache: N frames at PATH`."""
    args = parser().parse_args(argv)
    try:
        path, frames = rebuild(frozen(read_file(args.config, seed=args.seed), args))
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"cache: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("cache: interrupted; what was there before still is", file=sys.stderr)
        return 130
    print(f"cache: {frames} frames at {path}", flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(prog="rlt cache", description=__doc__)
    add = result.add_argument
    add("--config", type=Path, required=True, help="configuration of `rlt stage1` (docs/stage1.md)")
    add("--vla-from", default="", metavar="DIR", help="Stage-1 checkpoint whose VLA is used (default: the file's)")
    add("--path", default="", help="directory of the embeddings (default: the file's run.embeddings)")
    add("--seed", type=int, help="of simulated demonstrations (default: the file's)")
    return result


def frozen(file: Stage1File, args: argparse.Namespace) -> Stage1File:
    """The file with the VLA and the directory of the command line. Raises ConfigError if either is missing."""
    vla_from, path = args.vla_from or file.learn.vla_from, args.path or file.run.embeddings
    if not vla_from:
        raise ConfigError(f"{args.config}: learn.vla_from is empty; give it or --vla-from, no VLA is trained here")
    if not path:
        raise ConfigError(f"{args.config}: run.embeddings is empty; give it or --path")
    learn = replace(file.learn, vla_from=vla_from, objective="frozen")
    return replace(file, learn=learn, run=replace(file.run, embeddings=path))


def rebuild(file: Stage1File) -> tuple[Path, int]:
    """Pass all frames through the VLA; returns the directory, whose old content stays until then, and their number."""
    # Here and not above: torch takes seconds, and a wrong file should be told at once.
    from rlt_ros.robot.config import load_robot
    from rlt_ros.tensor import torch
    from rlt_ros.token.corpus import Corpus
    from rlt_ros.token.embeddings import embedding_identity, passes, rewrite
    from rlt_ros.token.run import Run
    from rlt_ros.token.sources import record
    from rlt_ros.token.start import start

    if file.run.threads:
        torch.set_num_threads(file.run.threads)
    config, run, robot = file.learn, Run(config=file.run), load_robot(file.robot_config)
    parts = start(config, robot, file.seed, file.run.device)
    recorded = record(config, robot, file.seed, parts.vla.image_size[0], run)
    corpus = Corpus.of(recorded.episodes, config, parts.vla, file.seed, parts.norm, recorded.pictures)
    identity = embedding_identity(parts.vla, corpus, config.instruction, config.embedding_dtype)
    progress = run.progress("embeddings", len(corpus))
    path = Path(file.run.embeddings)
    rewrite(path, identity, passes(parts.vla, corpus, config.instruction, progress.update))
    return path, len(corpus)


if __name__ == "__main__":
    sys.exit(main())
