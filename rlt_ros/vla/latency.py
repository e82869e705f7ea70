"""How long passes take: kept as they come, told as p50 and p99."""

from __future__ import annotations

import time
from collections import deque

import numpy as np

from rlt_ros.vla.contract import VLA, VLAInput

KEPT = 10_000


class Latency:
    """Durations of passes, the newest `KEPT` of them."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=KEPT)

    def add(self, seconds: float) -> float:
        """Note one pass; returns its duration."""
        self._seconds.append(seconds)
        return seconds

    def report(self) -> dict[str, float]:
        """passes, p50_ms, p99_ms, max_ms; only passes: 0 before the first."""
        if not self._seconds:
            return {"passes": 0}
        p50, p99, most = np.quantile(1e3 * np.array(self._seconds), [0.5, 0.99, 1.0])
        return {"passes": len(self._seconds), "p50_ms": float(p50), "p99_ms": float(p99), "max_ms": float(most)}


def measure(vla: VLA, batch: VLAInput, passes: int, warmup: int = 2) -> Latency:
    """Time passes of a batch from the call to results in the processor's memory."""
    latency = Latency()
    for number in range(-warmup, passes):
        started = time.perf_counter()
        out = vla.infer(batch, list(range(len(batch))))
        out.tokens.cpu(), out.reference.cpu()
        if number >= 0:
            latency.add(time.perf_counter() - started)
    return latency
