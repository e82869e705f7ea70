"""One running graph in real time for many faults, and the record of what they did."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from fault_watch import TOPICS, Watch
from graph import Graph, Listener

from rlt_ros.rl.journal import Journal
from rlt_ros.types import Transition

OUT = "RLT_FAULTS_OUT"
"""Environment variable: directory for the records of a run; `make faults` sets it."""
TELEOP = {"time_limit": 400, "warmup_episodes": 2, "fail_after": 400, "begin_after": 10}
"""Phases that are long enough for a fault: 20 s."""


class Session:
    """Starts a graph, and another one where the first has ended. folder: for parameters, logs and run directories."""

    def __init__(self, folder: Path, checkpoint: Path, learner: dict[str, Any]) -> None:
        self._folder, self._checkpoint = folder, checkpoint
        self._parameters = folder / "params.yaml"
        nodes = {"learner": learner, "teleop": TELEOP}
        self._parameters.write_text(yaml.safe_dump({f"/**/{n}": {"ros__parameters": p} for n, p in nodes.items()}))
        self.runs: list[Path] = []
        self._listener = Listener(TOPICS)
        self._graph = self._start()
        self.watch = Watch(self._graph, self._listener)
        self._watches = {self.runs[-1]: self.watch}

    def abandon(self) -> None:
        """Give up a graph that does not go on; `running` starts another one."""
        self._graph.abandon()

    def _start(self) -> Graph:
        self.runs.append(self._folder / f"run{len(self.runs)}")
        arguments = {
            "run_dir": self.runs[-1],
            "checkpoint": self._checkpoint,
            "params_file": self._parameters,
            "seed": 1,
            "lockstep": "false",
            "practice_minutes": 60,
            "eval_episodes": 0,
        }
        return Graph(self._folder / f"launch{len(self.runs)}.log", arguments, domain=self._listener.domain)

    @property
    def graph(self) -> Graph:
        """The one that runs."""
        return self._graph

    def running(self) -> Watch:
        """A watch of a graph that runs and drives."""
        if self._graph.process.poll() is not None:
            self._graph.abandon()
            self._forget()
            self._graph = self._start()
            self.watch = self._watches[self.runs[-1]] = Watch(self._graph, self._listener)
        watch = self.watch
        watch.wait(lambda: watch.driving(watch.now - 0.5, 3, phase=False), 240, "a driven step")
        return watch

    def _forget(self) -> None:
        """What is still on its way from the graph before is not of the next one."""
        count = -1
        while count != (count := sum(map(len, self._listener.received.values()))):
            self._listener.spin(0.5)
        for messages in self._listener.received.values():
            messages.clear()

    def end(self) -> int:
        """End the graph as Ctrl-C does, once what was labelled is recorded; returns its exit code."""
        settled = self.watch.now + 3.0
        self.watch.wait(lambda: self.watch.now > settled, 60, "the last rows")
        self._graph.send(signal.SIGINT)
        return self._graph.end()

    def rows(self, run: Path) -> list[Transition]:
        """Everything that a run has recorded."""
        return [row for row in Journal(run / "transitions") if isinstance(row, Transition)]

    def times(self, run: Path) -> dict[int, float]:
        """Robot time of the observations of a run."""
        return self._watches[run].times

    def close(self) -> None:
        """Leave nothing behind."""
        self._graph.abandon()
        self._listener.close()


@contextmanager
def session(folder: Path, checkpoint: Path, learner: dict[str, Any]) -> Iterator[Session]:
    """A session that is closed."""
    opened = Session(folder, checkpoint, learner)
    try:
        yield opened
    finally:
        opened.close()


def record(name: str, rows: list[dict[str, Any]]) -> None:
    """Write what was measured where `make faults` wants it."""
    folder = os.environ.get(OUT)
    if not folder:
        return
    path = Path(folder) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = datetime.now(UTC.utc).strftime("%Y-%m-%d %H:%M UTC")
    path.write_text(json.dumps({"made": made, "rows": rows}, indent=1, default=str))
