"""`make demo`, with arguments passed on: the two commands of the README do all the set-up."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from graph import new_domain

ROOT = Path(__file__).parents[2]


def test_make_demo_passes_launch_arguments_on(checkpoint: Path, quick: Path, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    arguments = f"practice_minutes:=0.1 eval_episodes:=1 seed:=7 run_dir:={run_dir} checkpoint:={checkpoint}"
    env = {**os.environ, "ROS_DOMAIN_ID": str(new_domain()), "ROS_LOG_DIR": str(tmp_path / "log")}
    made = subprocess.run(
        ["make", "demo", f"ARGS={arguments} params_file:={quick}"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    summary = json.loads((run_dir / "summary.json").read_text())
    assert summary["seed"] == 7
    assert all(summary[name]["episodes"] == 1 for name in ("base", "base_with_noise", "final", "final_with_noise"))
    assert summary["robot_time_s"] >= 6.0
