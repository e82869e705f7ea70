"""A VLA server as a process of its own, as `rlt serve-vla` starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import torch
import yaml

from rlt_ros.vla.backends import save_vla
from rlt_ros.vla.config import TinyConfig
from rlt_ros.vla.remote.secret import VARIABLE
from rlt_ros.vla.tiny import TinyVLA

SMALL = TinyConfig(width=32, layers=1, flow_layers=1, heads=2, readout=4, image_size=32)


def small_vla(seed: int = 0) -> TinyVLA:
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return TinyVLA(SMALL).eval()


def described(vla: TinyVLA, folder: Path) -> Path:
    """A YAML file that describes a VLA, with its weights beside it."""
    folder.mkdir(exist_ok=True)
    path = folder / "vla.yaml"
    path.write_text(yaml.safe_dump(json.loads(json.dumps(save_vla(vla, folder)))))
    return path


class Server:
    """`rlt serve-vla`, ready when the constructor returns; `url` is its address."""

    def __init__(self, *arguments: object, secret: str = "") -> None:
        command = [sys.executable, "-m", "rlt_ros", "serve-vla", "--threads", "1", *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
        if secret:
            environment[VARIABLE] = secret
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self.lines: list[str] = []
        self.url = ""
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"ws://\S+", line):
                self.url = found.group()
                return
        raise AssertionError("".join(self.lines))

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and wait; returns the exit code. What it printed is in `lines`."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        if not self.process.stdout.closed:
            self.lines += self.process.stdout.readlines()
            self.process.stdout.close()
        return self.process.wait(120)
