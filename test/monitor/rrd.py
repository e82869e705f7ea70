"""Recordings read back by Rerun's own command."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

CHUNK = re.compile(r"^Chunk\(\S+\) with (\d+) rows .*? - (\S+) - data columns", re.MULTILINE)


def entities(file: Path) -> Counter[str]:
    """Entity -> rows, of all chunks in a recording. Fails where Rerun finds an error in it."""
    for verb in (["verify"], ["print", "-v"]):
        command = [sys.executable, "-m", "rerun", "rrd", *verb, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    found: Counter[str] = Counter()
    for rows, entity in CHUNK.findall(done.stdout):
        found[entity] += int(rows)
    return found
