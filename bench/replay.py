"""Memory and time of the replay, of its file and of the journal, beside a plain replay that keeps every row whole.

    python -m bench.replay                        100,000 rows at z 2048: some minutes, 3 GB of memory, 2 GB of disk
    python -m bench.replay --rows 20000 --z 64

One JSON line per measurement. Bytes are resident ones of this process, so that what is laid out and not written does
not count. `plain` is the usual layout: float32, state and next state, reference and next reference in every row.
Ratios are plain over ours: above one, ours is the better.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.rows import columns, stream
from rlt_ros.rl import stored
from rlt_ros.rl.checkpoint import latest, resume, save_checkpoint
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.journal import Journal
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.replay import Replay
from rlt_ros.types import Transition

POINTS = (0.1, 0.25, 0.5, 1.0)
"""Shares of the rows after which memory is read."""
STEPS = (40, 100)
"""Least and most control steps of a phase."""
BATCH = 256
ROUNDS = 25
JOURNAL_ROWS = 4000
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Line = dict[str, Any]


class PlainReplay:
    """Every row with its own copy of both states and references, float32, in a ring of zeroed pages."""

    def __init__(self, config: AgentConfig, dims: Dims, capacity: int) -> None:
        c, a = config.chunk, dims.action
        shapes = {
            "state": (dims.z + dims.proprio,), "next_state": (dims.z + dims.proprio,), "reference": (c, a),
            "next_reference": (c, a), "action": (c, a), "human": (c,), "valid": (c,), "rewards": (c,), "horizon": (),
            "terminated": (), "mc_return": (),
        }  # fmt: skip
        self._arrays = {name: np.zeros((capacity, *shape), np.float32) for name, shape in shapes.items()}
        self._tensors = {name: torch.from_numpy(array) for name, array in self._arrays.items()}
        self._gamma, self._known, self._rows = config.gamma, {}, 0

    def add(self, row: Transition) -> None:
        """Store a row; only the features of the last phase are kept for those that come."""
        self._known |= {features.id: features for features in row.features}
        for name, value in columns(row, self._known, self._gamma).items():
            self._arrays[name][self._rows] = value
        self._rows += 1
        if row.last_of_phase:
            self._known.clear()

    def sample(self, batch: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        """Rows drawn uniformly with replacement."""
        index = torch.randint(self._rows, (batch,), generator=generator)
        return {name: tensor.index_select(0, index) for name, tensor in self._tensors.items()}


@dataclass(frozen=True)
class Case:
    """What is measured, and by which clock."""

    dims: Dims
    rows: int
    clock: Callable[[], float]
    config: AgentConfig = field(default_factory=AgentConfig)

    def stream(self) -> Iterator[Transition]:
        """The rows."""
        return islice(stream(self.config, self.dims, STEPS), self.rows)

    def line(self, bench: str, **figures: Any) -> Line:
        """A measurement."""
        rounded = {name: round(v, 3) if isinstance(v, float) else v for name, v in figures.items()}
        return {"bench": bench, "z": self.dims.z, "rows": self.rows, **rounded}

    def took(self, work: Callable[[], Any]) -> float:
        """Seconds."""
        start = self.clock()
        work()
        return self.clock() - start


def memory_and_time(case: Case) -> Iterator[Line]:
    """Bytes against rows, microseconds to add and to sample, ours and plain, and their ratios."""
    start = resident()
    ours = Replay(case.config, case.dims)
    points, add_us = filled(case, ours.add, start)
    yield case.line("replay.memory", mb_by_rows={count: round(size / 1e6, 1) for count, size in points})
    start = resident()
    plain = PlainReplay(case.config, case.dims, case.rows)
    plain_points, plain_add_us = filled(case, plain.add, start)
    size, plain_size = points[-1][1], plain_points[-1][1]
    yield case.line(
        "replay.memory_ratio", observations=ours.observations, mb=size / 1e6, plain_mb=plain_size / 1e6,
        ratio_plain=plain_size / size,
    )  # fmt: skip
    yield case.line("replay.add", us=add_us, plain_us=plain_add_us, ratio_plain=plain_add_us / add_us)
    sample_us, plain_us, ratio = sampled(case, ours, plain)
    yield case.line("replay.sample", batch=BATCH, us=sample_us, plain_us=plain_us, ratio_plain=ratio)


def filled(case: Case, add: Callable[[Transition], Any], start: int) -> tuple[list[tuple[int, int]], float]:
    """Resident bytes beyond `start` at some counts of rows, and the mean microseconds of one `add`."""
    wanted, points, spent = [round(share * case.rows) for share in POINTS], [], 0.0
    for number, row in enumerate(case.stream(), 1):
        before = case.clock()
        add(row)
        spent += case.clock() - before
        if number in wanted:
            points.append((number, resident() - start))
    return points, 1e6 * spent / case.rows


def sampled(case: Case, ours: Replay, plain: PlainReplay) -> tuple[float, float, float]:
    """Median microseconds of a batch, ours and plain, in turns; and the median of their ratios."""
    generator = torch.Generator().manual_seed(0)
    draws = [partial(each.sample, BATCH, generator) for each in (ours, plain)]
    turns = [[case.took(draw) for draw in draws] for _ in range(ROUNDS)]
    mine, theirs = zip(*turns)
    ratio = statistics.median(b / a for a, b in turns)
    return 1e6 * statistics.median(mine), 1e6 * statistics.median(theirs), ratio


def files(case: Case, folder: Path) -> Iterator[Line]:
    """Saving and loading a checkpoint of so many rows, and how far memory rises meanwhile, mapped files included."""
    folder.mkdir()
    learner, fresh = (Learner(case.config, case.dims, "bench", 5.0) for _ in range(2))
    learner.add(case.stream())
    with learner.held() as (_, _, rows):
        held_s = case.took(lambda: stored.write(folder / "held", rows))
    (folder / "held").unlink()
    before = reset_peak()
    save_s = case.took(lambda: save_checkpoint(folder, learner))
    rise, path = peak() - before, latest(folder)
    size = sum(file.stat().st_size for file in path.iterdir())
    yield case.line("checkpoint.save", s=save_s, learner_waits_s=held_s, mb=size / 1e6, memory_rise_mb=rise / 1e6)
    before, check_s = reset_peak(), case.took(lambda: latest(folder))
    load_s = case.took(lambda: resume(fresh, [], path))
    yield case.line("checkpoint.load", s=load_s, check_s=check_s, memory_rise_mb=(peak() - before) / 1e6)


def journal(case: Case, folder: Path) -> Iterator[Line]:
    """Microseconds a row to append, to read whole, and to pass over as resuming does what its checkpoint holds."""
    made, subject = list(islice(case.stream(), JOURNAL_ROWS)), Journal(folder)
    append = case.took(lambda: [subject.append(row) for row in made])
    subject.flush()
    read = case.took(lambda: sum(1 for _ in Journal(folder)))
    passed = case.took(lambda: sum(1 for _ in Journal(folder).packed()))
    micro = 1e6 / len(made)
    figures = {"append_us": micro * append, "read_us": micro * read, "pass_over_us": micro * passed}
    yield case.line("journal", **figures, ratio_read=read / passed)


def resident() -> int:
    """Resident bytes of this process that belong to it alone (files that it has mapped do not count)."""
    return 1024 * _status("RssAnon")


def peak() -> int:
    """Most resident bytes since `reset_peak`, mapped files included."""
    return 1024 * _status("VmHWM")


def reset_peak() -> int:
    """Start measuring the peak anew; returns where it starts."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main() -> None:
    """Print one JSON line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="rows in the replay")
    parser.add_argument("--z", type=int, nargs="+", default=[64, 2048], help="sizes of the RL token")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a busy machine")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for z in chosen.z:
        case = Case(Dims(z=z), chosen.rows, CLOCKS[chosen.clock])
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for line in chain(
                memory_and_time(case), files(case, folder / "checkpoints"), journal(case, folder / "transitions")
            ):
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
