"""Where a trained Stage 1 lies: the path follows from everything that goes into it. Needs neither torch nor ROS."""

from __future__ import annotations

import ast
import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import rlt_ros
from rlt_ros.data.contract import read_contract
from rlt_ros.robot.config import load_robot
from rlt_ros.sim.tasks import DEFAULT_TASK, find_task
from rlt_ros.token.config import Stage1Config, stage1_config

SOURCES = ("data", "robot", "sim", "token", "vla", "files.py", "types.py")
"""Parts of the package that decide what Stage 1 learns."""
UNCONCERNED = (
    "data/lerobot/",
    "robot/gripper.py",
    "sim/grid.py",
    "sim/operator.py",
    "sim/tasks.py",
    "token/cache.py",
    "token/cache_cli.py",
    "token/demonstrate_cli.py",
    "token/extractor.py",
    "token/lock.py",
    "token/pixels.py",
    "token/progress.py",
    "token/run.py",
    "token/snapshots.py",
    "token/stage1_cli.py",
    "token/stage1_file.py",
    "token/watch.py",
    "vla/latency.py",
    "vla/lerobot/",
    "vla/remote/",
)
"""Files and folders in them that do not. Of the tasks the one that is meant goes into the key by its content."""


def cached_stage1(
    preset: str,
    seed: int,
    robot_config: str = "",
    root: Path | None = None,
    task: str = DEFAULT_TASK,
    untrained: bool = False,
) -> Path:
    """Directory in which Stage 1 of a preset and a simulated task is cached; nothing is trained, it need not exist.

    robot_config: path of the robot config, empty for the default one. root: of the cache, else `cache_root`.
    untrained: with a random token encoder.
    Raises KeyError on an unknown preset, ValueError on an unknown task.
    """
    config = stage1_config(preset, task)
    key = recipe_of(config.untrained if untrained else config, seed, robot_config)
    return (root or cache_root()) / "stage1" / f"{preset}-{task}-{key[:16]}"


def recipe_hash(preset: str, seed: int, robot_config: str = "", task: str = DEFAULT_TASK) -> str:
    """`recipe_of` a preset for a simulated task."""
    return recipe_of(stage1_config(preset, task), seed, robot_config)


def recipe_of(config: Stage1Config, seed: int, robot_config: str = "") -> str:
    """SHA-256 of everything that decides what Stage 1 comes out as: configuration, task, robot, seed and code."""
    content = {
        "config": asdict(config),
        "task": None if config.dataset.path else asdict(find_task(config.task)),
        "robot": asdict(load_robot(robot_config)),
        "vla": _starting_vla(config.vla_from),
        "seed": seed,
        "source": source_version(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _starting_vla(path: str) -> str:
    if not path:
        return ""
    folder = Path(path).expanduser()
    return read_contract(folder).vla if folder.is_dir() else hashlib.sha256(folder.read_bytes()).hexdigest()


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
    return sorted(path for path in found if not _unconcerned(path.relative_to(root).as_posix()))


def _unconcerned(name: str) -> bool:
    return any(name == other or (other.endswith("/") and name.startswith(other)) for other in UNCONCERNED)


def _code(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_text(line)]
    return ast.dump(tree)


def _is_text(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
