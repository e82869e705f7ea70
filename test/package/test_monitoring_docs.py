"""docs/monitoring.md is true: each of its commands is run by a test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "monitoring.md").read_text()
RUN_BY = {
    "ros2 launch rlt_ros stage2.launch.py monitor:=true": "test/launch/test_monitor.py",
    "ros2 launch rlt_ros monitor.launch.py": "test/launch/test_monitor.py",
    "ros2 launch rlt_ros stage2.launch.py monitor:=rerun": "test/launch/test_monitor.py",
    "tensorboard --logdir runs": "test/rl/test_metrics.py",
    "ros2 param set /rlt/markers rate 5.0": "test/launch/test_parameters.py",
    "ros2 param set /rlt/actor sigma 0.05": "test/launch/test_parameters.py",
    "ros2 param set /rlt/referee enabled false": "test/launch/test_parameters.py",
    "rlt report runs/monday": "test/report/test_report.py",
    "rlt report runs/monday runs/tuesday --out comparison": "test/report/test_report.py",
    "rlt bag-report BAG --plots pictures": "test/data/test_bag_report.py",
}
"""Command to the test that runs it, or, of TensorBoard, that reads the files as it does."""


def test_every_command_is_run_by_a_test() -> None:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    assert {line for block in blocks for line in block.splitlines() if line} == set(RUN_BY)
    assert [test for test in RUN_BY.values() if not (ROOT / test).exists()] == []


def test_every_picture_and_page_is_there() -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", PAGE)
    assert targets and [target for target in targets if not (ROOT / "docs" / target).exists()] == []
