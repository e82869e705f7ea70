"""How long VLA passes take, here and over the network: one JSON line per measurement.

    python -m bench.vla                             the tiny VLAs; a server with them, and with large answers
python -m bench.vla --vla FILE --device cuda    a VLA that a YAML file describes (docs/vla.md)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlt_ros.vla.backends import read_vla
from rlt_ros.vla.config import SIZES
from rlt_ros.vla.contract import VLA, TokenKind, VLAInput, VLAOutput
from rlt_ros.vla.latency import measure
from rlt_ros.vla.remote.client import RemoteVLA
from rlt_ros.vla.remote.config import ENCODINGS, RemoteConfig
from rlt_ros.vla.remote.server import VLAServer
from rlt_ros.vla.remote.service import Service
from rlt_ros.vla.tiny import TinyVLA


@dataclass(frozen=True)
class Constant:
    """Answers at once with what has the size of a pi0.5 answer: what remains is the time on the way."""

    backend: str = "constant"
    identity: str = "constant"
    cameras: tuple[str, ...] = ("front", "left", "right")
    image_size: tuple[int, int] = (224, 224)
    proprio_dim: int = 19
    horizon: int = 50
    action_dim: int = 7
    width: int = 2048
    kinds: tuple[TokenKind, ...] = (TokenKind.IMAGE,) * 768 + (TokenKind.INSTRUCTION,) * 200

    def token_kinds(self, instruction: str) -> tuple[TokenKind, ...]:
        """Kinds."""
        return self.kinds

    def infer(self, batch: VLAInput, seeds: Sequence[int]) -> VLAOutput:
        """Zeros."""
        n, m = len(batch), len(self.kinds)
        reference = torch.zeros(n, self.horizon, self.action_dim)
        return VLAOutput(torch.zeros(n, m, self.width), torch.ones(n, m, dtype=torch.bool), self.kinds, reference)

    def save(self, folder: Path) -> dict[str, Any]:
        """Nothing."""
        return {}


def main() -> None:
    """Measure and print."""
    args = _parser().parse_args()
    torch.set_num_threads(args.threads)
    vlas: dict[str, VLA] = {name: TinyVLA(config).eval() for name, config in SIZES.items()} | {"wire": Constant()}
    if args.vla:
        vlas = {args.vla: read_vla(Path(args.vla), args.device)}
    for name, vla in vlas.items():
        for batch in args.batch:
            if name != "wire":
                _show(name, "here", vla, batch, args.passes)
            if name != "large":
                _over_the_network(name, vla, batch, args.passes)


def _over_the_network(name: str, vla: VLA, batch: int, passes: int) -> None:
    with _served(vla) as url:
        for images in ENCODINGS:
            remote = RemoteVLA(RemoteConfig(url, images=images, timeout=60.0))
            _show(name, f"server, images {images}", remote, batch, passes)
            remote.close()


def _show(name: str, where: str, vla: VLA, batch: int, passes: int) -> None:
    report = measure(vla, _example(vla, batch), passes).report()
    print(
        json.dumps({"vla": name, "where": where, "batch": batch} | {k: round(v, 2) for k, v in report.items()}),
        flush=True,
    )


def _example(vla: VLA, n: int) -> VLAInput:
    rng = np.random.default_rng(0)
    # Noise would be the worst case for PNG and JPEG; a ramp is closer to pictures.
    ramp = np.linspace(0, 255, vla.image_size[1], dtype=np.uint8)[None, None, :, None]
    images = {c: np.broadcast_to(ramp, (n, *vla.image_size, 3)).copy() for c in vla.cameras}
    proprio = rng.normal(size=(n, vla.proprio_dim)).astype(np.float32)
    return VLAInput(images, proprio, "insert the peg", proprio)


@contextmanager
def _served(vla: VLA) -> Iterator[str]:
    """A server in a thread of this process; the address."""
    lines: list[str] = []
    ready, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    def show(line: str) -> None:
        lines.append(line)
        ready.set()

    server = VLAServer(Service(vla), b"", show)
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.run("127.0.0.1", 0, stop)))
    thread.start()
    ready.wait()
    try:
        yield lines[0].rsplit(" ", 1)[1]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def _parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--vla", default="", help="YAML file that describes a VLA")
    result.add_argument("--device", default="cpu", help="of torch (default: cpu)")
    result.add_argument("--threads", type=int, default=1, help="of torch (default: 1)")
    result.add_argument("--batch", type=int, nargs="+", default=[1, 8], help="observations in a pass (default: 1 8)")
    result.add_argument("--passes", type=int, default=50, help="of each measurement (default: 50)")
    return result


if __name__ == "__main__":
    main()
