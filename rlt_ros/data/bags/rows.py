"""Rows of the replay out of the `transition` topic of a bag, as the learner took them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.data.bags.bag import Bag
from rlt_ros.data.bags.errors import BagError
from rlt_ros.types import Features, Label, Transition

TRANSITION = "rlt_ros/msg/Transition"


def contracted_rows(path: Path) -> Iterator[tuple[str, Transition]]:
    """Every row once, with the fingerprint of the contract that it carries; each stream in the order of its ids. Raises
    BagError where one is missing: the rows after it are not those that were learned from.
    """
    with Bag(path) as bag:
        told = "last_of_phase" in dict(bag.definitions.get(TRANSITION, (None, [("last_of_phase", None)]))[1])
    rows = _numbered(path)
    return rows if told else _with_ends(rows)


def _numbered(path: Path) -> Iterator[tuple[str, Transition]]:
    done: Counter[str] = Counter()
    early: dict[str, dict[int, tuple[str, Transition]]] = {}
    with Bag(path) as bag:
        topics = bag.topics_of(TRANSITION)
        if not topics:
            raise BagError(f"{path}: no topic of {TRANSITION}; there are {', '.join(sorted(bag.kinds)) or 'none'}")
        for raw in bag.raw(topics):
            message = bag.message(raw)
            waiting = early.setdefault(str(message.stream), {})
            if message.id > done[message.stream]:
                where = f"{path}: message {raw.number} of {raw.topic}"
                waiting.setdefault(int(message.id), (str(message.contract), transition(message, where)))
            while (following := waiting.pop(done[message.stream] + 1, None)) is not None:
                done[message.stream] += 1
                yield following
    for stream, waiting in early.items():
        if waiting:
            raise BagError(f"{path}: row {done[stream] + 1} of stream {stream!r} is missing; {len(waiting)} follow it")


def _with_ends(rows: Iterator[tuple[str, Transition]]) -> Iterator[tuple[str, Transition]]:
    """Rows of messages that did not yet say which is the last of its phase: the one before a row of another phase, and
    the last one of all if no window could begin behind it. A bag may end within a phase: that one has no outcome.
    """
    waiting: dict[str, tuple[str, Transition]] = {}
    strides: dict[str, int] = {}
    for contract, row in rows:
        if row.stream in waiting:
            earlier, before = waiting[row.stream]
            other = before.phase_id != row.phase_id
            strides |= {} if other else {row.stream: row.step - before.step}
            yield earlier, replace(before, last_of_phase=other)
        waiting[row.stream] = (contract, row)
    for contract, row in waiting.values():
        yield contract, replace(row, last_of_phase=_is_last(row, strides.get(row.stream, 1)))


def _is_last(row: Transition, stride: int) -> bool:
    # Windows begin up to two steps before the end of a phase.
    return row.steps_to_end - stride < 2


def transition(message: Any, where: str) -> Transition:
    """A row from a message. Raises BagError naming the field whose length is not what the message states."""
    horizon, size = int(message.horizon), int(message.action_dim)
    return Transition(
        id=int(message.id),
        stream=str(message.stream),
        episode=int(message.episode),
        phase_id=int(message.phase_id),
        step=int(message.step),
        features_id=int(message.features_id),
        next_features_id=int(message.next_features_id),
        actions=_array(message.actions, np.float32, (horizon, size), f"{where}: actions"),
        drivers=_array(message.drivers, np.uint8, (horizon,), f"{where}: drivers"),
        rewards=_array(message.rewards, np.float32, (horizon,), f"{where}: rewards"),
        valid_horizon=int(message.valid_horizon),
        terminated=bool(message.terminated),
        truncated=bool(message.truncated),
        label=Label(int(message.label)),
        steps_to_end=int(message.steps_to_end),
        weights_version=int(message.weights_version),
        last_of_phase=bool(message.last_of_phase),
        features=tuple(features(part, where) for part in message.features),
    )


def features(message: Any, where: str) -> Features:
    """Features from a message. Raises BagError likewise."""
    stamp = int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)
    shape = (int(message.horizon), int(message.action_dim))
    where = f"{where}: features {message.id}"
    return Features(
        id=int(message.id),
        stamp=stamp,
        episode=int(message.episode),
        step=int(message.step),
        z=_array(message.z_rl, np.float32, (-1,), f"{where}: z_rl"),
        proprio=_array(message.proprio, np.float32, (-1,), f"{where}: proprio"),
        reference=_array(message.reference, np.float32, shape, f"{where}: reference"),
    )


def _array(values: Any, kind: type, shape: tuple[int, ...], where: str) -> np.ndarray:
    found = np.array(values, dtype=kind)
    if shape != (-1,) and found.size != int(np.prod(shape)):
        raise BagError(f"{where} has {found.size} values; expected {' x '.join(map(str, shape))}")
    return found.reshape(shape)
