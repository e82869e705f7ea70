"""The stand-in starts the same processes as the real `launch`, for every launch file.

It runs wherever the real one is importable: from a ROS installation, or from the folders that the
environment variable RLT_REAL_LAUNCH lists. Those come first on the path, dependencies included.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from launch_support import LAUNCH_FILES, ROOT, STANDIN, add_package, demo_prefix, environment

PACKAGE_FILES = sorted((ROOT / "launch").glob("**/*.launch.py"))
ALL_FILES = [*PACKAGE_FILES, *sorted(LAUNCH_FILES.glob("*.launch.py"))]

# arguments for all sets: what depends on the time of day would make two runs differ
ALWAYS = {"stage2.launch.py": ["run_dir:=run"]}
# arguments that only make sense together, beyond each choice by itself
COMBINATIONS = {
    "stage2.launch.py": [
        ["robot:=franka", "checkpoint:=stage1"],
        ["namespace:=a/b", "seed:=7"],
        ["role:=robot", "checkpoint:=stage1", "namespace:=arm1", "robot_namespace:=arm1"],
        ["role:=gpu", "checkpoint:=stage1", "robots:=arm1,arm2"],
        ["nodes:=observation,executor", "robot:=franka", "checkpoint:=stage1"],
    ]
}


def real_launch_path() -> str | None:
    """Return what to put on the path for the real launch, "" if nothing, None if there is none."""
    listed = os.environ.get("RLT_REAL_LAUNCH")
    if listed:
        return listed
    others = [entry for entry in sys.path if Path(entry or ".").resolve() != STANDIN]
    return "" if any((Path(entry) / "launch/launch_service.py").is_file() for entry in others) else None


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prefix with the demo package, and with the package under test as it would be installed."""
    folder = demo_prefix(tmp_path_factory.mktemp("prefix"))
    executables = runpy.run_path(str(ROOT / "rlt_ros/entry_points.py"))["ENTRY_POINTS"]
    share = add_package(folder, "rlt_ros", dict.fromkeys(executables, "#!/bin/sh\nexit 0\n"))
    (folder / "log").mkdir()
    for part in ("launch", "config"):
        (share / part).symlink_to(ROOT / part)
    return folder


Records = list[dict[str, object]]


def described(file: Path, sets: list[list[str]], env: dict[str, str]) -> tuple[list[Records], str]:
    """Return what the launch on the path would start for each set of arguments, and the errors it tells."""
    script = STANDIN / "ros2_standin/describe.py"
    arguments = [part for arguments in sets for part in ("--", *arguments)][1:]
    result = subprocess.run(
        [sys.executable, script, file, *arguments],
        env=env,
        cwd=env["ROS_LOG_DIR"],  # launch files may make folders where they run
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    errors = [line for line in result.stderr.splitlines() if "[ERROR]" in line]
    return json.loads(result.stdout), "\n".join(errors)


def variants(file: Path, env: dict[str, str]) -> list[list[str]]:
    """Return sets of arguments: none, the combinations, then each choice of each argument."""
    command = [sys.executable, STANDIN / "bin/ros2", "launch", file, "--show-args"]
    result = subprocess.run(command, env=env, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    sets = [[], *COMBINATIONS.get(file.name, [])]
    for name, description in re.findall(r"\n    '(\w+)':\*?\n((?:        .*\n?)*)", result.stdout):
        for found in re.findall(r"(?:Valid choices are|One of): \[(.*)\]", description):
            sets += [[f"{name}:={choice}"] for choice in re.findall(r"'([^']*)'", found)]
        if re.search(r"\(default: '(true|false)'\)", description, re.IGNORECASE):
            sets += [[f"{name}:=true"], [f"{name}:=false"]]
    return [[*ALWAYS.get(file.name, []), *arguments] for arguments in sets]


def _comparable(records: object) -> list[str]:
    """Return lines of text in which the names of temporary files are the same."""
    text = json.dumps(records, indent=1, sort_keys=True)
    return re.sub(r"launch_params_\w+", "X", text).splitlines()


@pytest.mark.parametrize("file", ALL_FILES, ids=lambda file: file.name)
def test_same_processes(file: Path, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = real_launch_path()
    if real is None:
        pytest.skip("the real launch is not importable; set RLT_REAL_LAUNCH to its folders to compare with it")
    monkeypatch.setenv("DEMO_LIST", "middle")
    monkeypatch.setenv("DEMO_REMOVED", "1")
    sets = variants(file, environment(prefix))
    ours, our_errors = described(file, sets, environment(prefix))
    theirs, their_errors = described(file, sets, environment(prefix, python_path=real))
    for arguments, our, their in zip(sets, ours, theirs, strict=True):
        difference = difflib.unified_diff(_comparable(our), _comparable(their), "ours", "real", n=4)
        told = f"with {arguments}\nours tells: {our_errors}\nthe real one: {their_errors}\n"
        assert not (lines := list(difference)), told + "\n".join(lines)


@pytest.mark.parametrize("file", ALL_FILES, ids=lambda file: file.name)
def test_describes(file: Path, prefix: Path) -> None:
    """Every launch file can be read, and starts something or says which argument is missing."""
    [records], errors = described(file, [ALWAYS.get(file.name, [])], environment(prefix))
    assert records
    assert records[-1] != {"failed": True} or "missing required argument" in errors, errors
