"""docs/bags.md is true: its commands are those that tests run, its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "bags.md").read_text()

REPLAY = "ros2 launch rlt_ros replay.launch.py bag:=runs/monday/bag"
RUN_BY = {
    "ros2 launch rlt_ros stage2.launch.py record:=true": "test/launch/test_record.py",
    "ros2 launch rlt_ros collect.launch.py out:=demos record:=true": "test/launch/test_record.py",
    "ros2 launch rlt_ros record.launch.py bag:=bags/monday": "test/launch/test_record.py",
    "ros2 bag info runs/monday/bag": "test/standalone/test_bag_verbs.py",
    "ros2 bag reindex runs/monday/bag": "test/standalone/test_bag_verbs.py",
    f"{REPLAY} into:=learner out:=runs/again": "test/launch/test_record.py",
    f"{REPLAY} into:=features checkpoint:=runs/other out:=runs/rows": "test/launch/test_record.py",
    f"{REPLAY} into:=view": "test/launch/test_record.py",
    "make bench-record": "bench/record.py",
}
"""Command of the page to the test that runs it, perhaps with other paths."""


def test_every_command_is_run_by_a_test() -> None:
    blocks = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
    lines = [line.split("   #")[0].strip() for block in blocks for line in block.splitlines()]
    lines += re.findall(r"^\| `(ros2 [^`]+)` \|", TEXT, re.MULTILINE)
    assert set(filter(None, lines)) == set(RUN_BY)
    for command, test in RUN_BY.items():
        assert (ROOT / test).exists(), test
        launch_file = re.search(r"\w+\.launch\.py", command)
        assert launch_file is None or launch_file[0].removesuffix(".launch.py") in (ROOT / test).read_text()


def test_every_profile_is_described() -> None:
    named = set(re.findall(r"^\| `(\w+)` \| ", TEXT.split("| profile | holds |")[1].split("\n\n")[0], re.MULTILINE))
    assert named == {path.stem for path in (ROOT / "config" / "record").glob("*.yaml")}


def test_every_link_leads_somewhere() -> None:
    for path in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / "docs" / path).exists(), path
