"""A run directory out of stored rows: what `rlt train` does between its arguments and its exit code."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlt_ros.loop.offline import Hooks, Offline, Rate
from rlt_ros.loop.record import is_used
from rlt_ros.loop.report import write_json
from rlt_ros.loop.sources import CHECKPOINTS, SourceError, agreed_origin, all_rows, open_source, stage1_origin
from rlt_ros.rl.checkpoint import CheckpointError, Saver, latest, read_state, resume
from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.metrics import Metrics
from rlt_ros.rl.origin import Origin
from rlt_ros.rl.weights import write_policy_file
from rlt_ros.strict import build, changed


class OfflineRun:
    """Learns from stored rows and leaves what a live run leaves: checkpoints, weights, TensorBoard, a summary.

    arguments: of `train_cli.parser`. Raises SourceError, OriginMismatch, ConfigError, CheckpointError or WeightsError
    where something does not fit, FileExistsError where the run directory is in use.
    """

    def __init__(self, sources: Sequence[Path], out: Path, arguments: argparse.Namespace) -> None:
        refuse_used(out, arguments.resume)
        self._out, self._arguments = out, arguments
        self._sources = [open_source(path) for path in sources]
        origin = agreed_origin(self._sources, stage1_origin(arguments.checkpoint) if arguments.checkpoint else None)
        found = latest(out / CHECKPOINTS) if arguments.resume else None
        config = self._config(origin, read_state(found)["config"] if found else None)
        self._learner = Learner(config, origin.dims, origin.contract, origin.translation_mm)
        resume(self._learner, [], found)
        if arguments.init_weights and found is None:
            self._learner.start_from(arguments.init_weights)
        self._rows = all_rows(self._sources)
        self._metrics = Metrics(out / "tensorboard", out / "metrics.jsonl")
        self._began = self._shown = time.monotonic()
        self._saver = Saver(out / CHECKPOINTS, self._learner, arguments.save_every, arguments.keep)
        self._rate = Rate(self._updates, self._expected())
        self._interrupted = False

    def interrupt(self) -> None:
        """End after the update under way and save. For a signal handler."""
        self._interrupted = True

    def run(self) -> bool:
        """Learn, save, sum up. False if it was interrupted. Raises Diverged, after which nothing is saved."""
        offline = Offline(self._learner, Hooks(lambda: self._interrupted, self._after_slice))
        wanted = self._arguments.updates
        finished = offline.as_they_came(self._rows) if wanted is None else offline.all_at_once(self._rows, wanted)
        self._saver.save()
        write_policy_file(self._out / "policy.safetensors", self._learner.weights())
        stats = self._learner.stats(refused=offline.refused)
        self._metrics.write(stats, self._learner.outcomes, self._learner.alarms)
        self._metrics.close()
        write_json(self._out / "summary.json", self._summary(finished, vars(stats)))
        self._say(f"train: {self._rate.line(self._updates)}")
        self._remark(finished, offline)
        return finished

    @property
    def _updates(self) -> int:
        return self._learner.agent.critic_updates

    def _config(self, origin: Origin, interrupted: Mapping[str, Any] | None) -> AgentConfig:
        stored = (source.settings for source in self._sources if source.settings is not None)
        base = interrupted or next(stored, {"chunk": origin.chunk})
        values = changed(base, self._arguments.set)
        if self._arguments.seed is not None:
            values["seed"] = self._arguments.seed
        config = build(AgentConfig, values, "settings")
        if config.chunk != origin.chunk:
            raise SourceError(f"settings.chunk is {config.chunk}; the rows have {origin.chunk}")
        return config

    def _expected(self) -> int:
        rows = sum(sum(source.count.values()) for source in self._sources)
        return rows * self._learner.config.utd if self._arguments.updates is None else self._arguments.updates

    def _after_slice(self) -> None:
        now = time.monotonic()
        if now - self._shown >= 1.0:
            self._shown = now
            self._say(f"train: {self._learner.progress.rows} rows, {self._rate.line(self._updates)}")
            stats = self._learner.stats()
            self._metrics.write(stats, self._learner.outcomes, self._learner.alarms)
        if self._saver.due:
            self._save()

    def _save(self) -> None:
        try:
            self._saver.save()
        except CheckpointError as error:
            self._say(f"train: {error}; training goes on")

    def _summary(self, finished: bool, stats: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "finished": finished,
            "sources": {str(source.path): sum(source.count.values()) for source in self._sources},
            "contract": self._learner.contract,
            "config": _finite(self._learner.config.as_dict()),
            "wall_time_s": time.monotonic() - self._began,
            "learner": _finite(stats),
        }

    def _remark(self, finished: bool, offline: Offline) -> None:
        if offline.refused:
            self._say(f"train: {offline.refused} rows refused, the first because {offline.why}")
        if not finished:
            self._say("train: interrupted and saved; the same command with --resume goes on")
        elif self._updates == 0:
            self._say(f"train: nothing was learned: {self._learner.gate.reason}")

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def _finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what JSON cannot say: null where nothing is known or nothing is the limit."""
    return {n: None if isinstance(v, float) and not math.isfinite(v) else v for n, v in values.items()}


def refuse_used(out: Path, resumed: bool) -> None:
    """Raises FileExistsError or FileNotFoundError unless the directory is new, or old and to be gone on in."""
    used = is_used(out)
    if used and not resumed:
        raise FileExistsError(f"{out} exists already: choose another --out, or go on in it with --resume")
    if resumed and not used:
        raise FileNotFoundError(f"{out} does not exist: there is nothing to resume")
