"""Where a trained Stage 1 lies: the path follows from everything that goes into it. Needs neither torch nor ROS."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import rlt_ros
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.tasks import DEFAULT_TASK, find_task
from rlt_ros.token.config import stage1_config

SOURCES = ("data", "robot", "sim", "token", "vla", "files.py", "types.py")
"""Parts of the package that decide what Stage 1 learns."""
UNCONCERNED = (
    "data/lerobot/",
    "robot/gripper.py",
    "sim/operator.py",
    "sim/tasks.py",
    "token/cache.py",
    "token/demonstrate_cli.py",
    "token/extractor.py",
    "token/lock.py",
    "token/progress.py",
    "token/stage1_cli.py",
)
"""Files and folders in them that do not. Of the tasks the one that is meant goes into the key by its content."""


def cached_stage1(
    preset: str, seed: int, robot_config: str = "", root: Path | None = None, task: str = DEFAULT_TASK
) -> Path:
    """Directory in which Stage 1 of a preset and a simulated task is cached; nothing is trained, it need not exist.

    robot_config: path of the robot config, empty for the default one. root: of the cache, else `cache_root`.
    Raises KeyError on an unknown preset, ValueError on an unknown task.
    """
    key = recipe_hash(preset, seed, robot_config, task)
    return (root or cache_root()) / "stage1" / f"{preset}-{task}-{key[:16]}"


def recipe_hash(preset: str, seed: int, robot_config: str = "", task: str = DEFAULT_TASK) -> str:
    """SHA-256 of everything that decides what Stage 1 comes out as: preset, task, seed, robot config and code."""
    content = {
        "config": asdict(stage1_config(preset, task)),
        "task": asdict(find_task(task)),
        "robot": asdict(load_robot(robot_config)),
        "seed": seed,
        "source": source_version(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def cache_root() -> Path:
    """RLT_CACHE_DIR, or rlt_ros in the user's cache directory (XDG_CACHE_HOME, ~/.cache)."""
    own = os.environ.get("RLT_CACHE_DIR")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rlt_ros"


def source_version() -> str:
    """SHA-256 of the code of `SOURCES`; comments and docstrings do not count."""
    root = Path(rlt_ros.__file__).parent
    digest = hashlib.sha256()
    for path in source_files(root):
        digest.update(f"{path.relative_to(root)}\n{_code(path.read_text())}\n".encode())
    return digest.hexdigest()


def source_files(root: Path) -> list[Path]:
    """The files that count, below the package's root."""
    found = [path for name in SOURCES for path in root.glob(name if name.endswith(".py") else f"{name}/**/*.py")]
    return sorted(path for path in found if not path.relative_to(root).as_posix().startswith(UNCONCERNED))


def _code(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_text(line)]
    return ast.dump(tree)


def _is_text(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
