"""`rlt serve-vla`: a VLA for the features node of another machine, or of another Python on this one."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rlt_ros.vla.remote.secret import VARIABLE, read_secret

if TYPE_CHECKING:
    from rlt_ros.vla.contract import VLA
    from rlt_ros.vla.remote.server import VLAServer

PORT = 8765


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; ends with 0 on SIGINT and SIGTERM."""
    args = parser().parse_args(argv)
    try:
        return _serve(args)
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        print(f"serve-vla: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("serve-vla: interrupted while loading", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(prog="rlt serve-vla", description=__doc__)
    what = result.add_mutually_exclusive_group(required=True)
    what.add_argument("--checkpoint", help="serve the VLA of a Stage-1 checkpoint directory")
    what.add_argument("--vla", help="serve the VLA that a YAML file describes (docs/vla.md)")
    result.add_argument("--host", default="127.0.0.1", help="interface to bind (default: this machine only)")
    result.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}; 0: any that is free")
    result.add_argument("--device", default="cpu", help="of torch, such as cuda (default: cpu)")
    result.add_argument("--threads", type=int, default=0, help="torch threads (default: torch's own)")
    secret = f"file with the shared secret (default: environment variable {VARIABLE}; without one only 127.0.0.1)"
    result.add_argument("--token-file", default="", help=secret)
    return result


def _serve(args: argparse.Namespace) -> int:
    from rlt_ros.tensor import torch
    from rlt_ros.vla.remote.server import VLAServer, check_host
    from rlt_ros.vla.remote.service import Service

    secret = read_secret(args.token_file)
    check_host(args.host, secret)
    if args.threads:
        torch.set_num_threads(args.threads)
    service = Service(_load(args))
    service.warm_up()
    asyncio.run(_until_signalled(VLAServer(service, secret, _show), args.host, args.port))
    _show(f"stopped; passes: {json.dumps(service.latency.report())}")
    return 0


def _load(args: argparse.Namespace) -> VLA:
    from rlt_ros.vla.backends import load_vla, read_vla

    if args.vla:
        return read_vla(Path(args.vla), args.device)
    where = Path(args.checkpoint) / "config.json"
    try:
        settings = json.loads(where.read_text())["vla"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{where}: not a Stage-1 checkpoint: {error}") from error
    return load_vla(settings, where.parent, f"{where}: vla", args.device)


async def _until_signalled(server: VLAServer, host: str, port: int) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await server.run(host, port, stop)


def _show(line: str) -> None:
    print(f"serve-vla: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
