"""Update rate of the agent against a plain PyTorch version of it and against the matrix-multiply limit.

    python -m bench.updates                       every size: about five minutes
    python -m bench.updates --z 64 --threads 1    those sizes alone

One JSON line per size. Milliseconds are for one critic step, sampling and its share of the actor steps included.
Ratios are medians over rounds in which everything takes its turn, so that what else the machine does cancels.

ratio_plain: time of the plain version over ours, both float32.
ratio_plain_frozen: the same for a plain version that at least keeps the critics from computing gradients of their own
in the actor step.
ratio_plain_bfloat16: time of the plain version over ours with `precision` bfloat16.
share_of_limit: time of the bare multiplications of the naive count (`bench.limit`) over ours. It can exceed one: some
multiplications are spared. plain_share_of_limit: over the plain version's.
About one row in seven is a window that the end of a phase has cut, as in a phase of three seconds: they alone need a
completed chunk, and where they are terminated no next value.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch

from bench.limit import Products, multiplications, naive_products
from bench.plain import PlainAgent, PlainReplay
from bench.rows import plain_rows, transitions
from bench.weights import copy_weights
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.flat import keep_freed_memory
from rlt_ros.rl.replay import Replay

ROWS = 4000
ROUNDS = 7
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
ROUND_MS = 100.0
"""Least duration of one turn."""


@dataclass(frozen=True)
class Size:
    """What is measured: z and rows of a batch, width and depth of the networks."""

    z: int
    batch: int
    layers: int
    hidden: int


SIZES = tuple(Size(z, b, n, h) for (z, b), (n, h) in itertools.product(((64, 128), (2048, 256)), ((2, 256), (3, 512))))


def contestants(config: AgentConfig, dims: Dims) -> dict[str, Callable[[], object]]:
    """By name, what makes `actor_every` updates on batches of the same rows from the same weights."""
    rows = transitions(config, dims, ROWS)
    replay, agent = Replay(config, dims), Agent(config, dims)
    for row in rows:
        replay.add(row)
    repeated = PlainReplay(plain_rows(rows, config.gamma))
    plain = {"plain": PlainAgent(config, dims), "plain_frozen": PlainAgent(config, dims, freeze=True)}
    for each in plain.values():
        copy_weights(agent, each)
    return {
        "ours": _updates(agent, replay, config),
        "bfloat16": _updates(Agent(replace(config, precision="bfloat16"), dims), replay, config),
        **{name: _updates(each, repeated, config) for name, each in plain.items()},
        "limit": Products(naive_products(config, dims)).run,
    }


def _updates(agent: Agent | PlainAgent, replay: Replay | PlainReplay, config: AgentConfig) -> Callable[[], object]:
    generator = torch.Generator().manual_seed(config.seed + 1)

    def run() -> None:
        for _ in range(config.actor_every):
            agent.update(replay.sample(config.batch, generator))

    return run


def turns(
    work: dict[str, Callable[[], object]], actor_every: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Milliseconds per critic step of every turn, by name. Everything has run twice before the first one."""
    repeats = {name: max(1, round(ROUND_MS / _ms(each, 2, clock))) for name, each in work.items()}
    measured: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, each in work.items():
            measured[name].append(_ms(each, repeats[name], clock) / actor_every)
    return measured


def _ms(work: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeats):
        work()
    return 1e3 * (clock() - start) / repeats


def measure(size: Size, threads: int, clock: str) -> dict[str, object]:
    """One line."""
    keep_freed_memory()
    torch.set_num_threads(threads)
    config = AgentConfig(batch=size.batch, hidden=size.hidden, layers=size.layers, actor_after=0, threads=threads)
    dims = Dims(z=size.z)
    measured = turns(contestants(config, dims), config.actor_every, CLOCKS[clock])
    ms = {f"ms_{name}": round(statistics.median(times), 2) for name, times in measured.items()}
    count = multiplications(naive_products(config, dims)) / config.actor_every
    return {
        "bench": "updates", **vars(size), "actions": [config.chunk, dims.action], "threads": threads,
        "torch": torch.__version__, "clock": clock, **ms,
        "ratio_plain": _ratio(measured, "plain", "ours"),
        "ratio_plain_frozen": _ratio(measured, "plain_frozen", "ours"),
        "ratio_plain_bfloat16": _ratio(measured, "plain", "bfloat16"),
        "share_of_limit": _ratio(measured, "limit", "ours"),
        "plain_share_of_limit": _ratio(measured, "limit", "plain"),
        "naive_multiplications": round(count),
    }  # fmt: skip


def _ratio(measured: dict[str, list[float]], slower: str, faster: str) -> float:
    return round(statistics.median(a / b for a, b in zip(measured[slower], measured[faster])), 3)


def lines(chosen: argparse.Namespace) -> Iterator[dict[str, object]]:
    """The measurements that were asked for."""
    for size, threads in itertools.product(SIZES, chosen.threads):
        if size.z in chosen.z and size.layers in chosen.layers:
            yield measure(size, threads, chosen.clock)


def main() -> None:
    """Print one JSON line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--z", type=int, nargs="+", default=[64, 2048], help="sizes of the RL token")
    parser.add_argument("--layers", type=int, nargs="+", default=[2, 3], help="2 (of 256 units) or 3 (of 512)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="threads of torch")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: of all threads, for a busy machine")
    for line in lines(parser.parse_args()):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
