"""The bench of VLA passes runs and reports (Makefile: none; `python -m bench.vla`)."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_way_to_ask_is_measured():
    command = [sys.executable, "-m", "bench.vla", "--passes", "2", "--batch", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    ways = {(line["vla"], line["where"].split(",")[0]) for line in lines}
    assert ways == {("demo", "here"), ("demo", "server"), ("large", "here"), ("wire", "server")}
    assert all(line["passes"] == 2 and 0 < line["p50_ms"] <= line["p99_ms"] for line in lines)
