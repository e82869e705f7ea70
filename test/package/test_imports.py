"""Arrows point one way (docs/architecture.md), and everything but nodes/ imports where ROS is not installed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from manifest import PACKAGE, ROOT

EVERYONE = {"types", "strict", "ranges", "tensor", "files", "interrupt", "__init__"}
"""Modules that any part may import: the vocabulary, configuration and its ranges, torch, files and interruptions."""

MAY_IMPORT = {
    "rl": set(),
    "robot": set(),
    "vla": set(),
    "data": {"robot"},
    # The scripted operator speaks the vocabulary of a person's requests.
    "sim": {"robot", "loop.requests"},
    "token": {"vla", "data", "robot", "sim"},
    # Kinds of tokens are the only thing that it needs of the VLA.
    "lerobot": {"rl", "token", "data", "vla.contract"},
    "loop": {"rl", "vla", "token", "robot", "data", "sim", "lerobot"},
    "monitor": {"robot"},
    "report": {"loop", "rl", "data"},
    "operator": {"loop", "rl.alarms", "robot"},
    "nodes": {"operator", "monitor", "loop", "rl", "vla", "token", "robot", "data", "sim", "lerobot"},
}
ABOVE_THE_PARTS = {"__main__": {"cli"}}
"""Modules at the top and what they may import; `cli` imports a command's module by its name when it is called for."""
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Dotted names below rlt_ros that a file imports anywhere in it, functions included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names |= {f"{module}.{alias.name}" for alias in node.names} if module == "rlt_ros" else {module}
    return names


def part(path: Path) -> str:
    """First folder below rlt_ros, or the module's own name at the top."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def permitted(source: str, target: str) -> bool:
    """Whether part `source` may import the dotted name `target`."""
    name = target.removeprefix("rlt_ros.")
    top = name.split(".")[0]
    if top in EVERYONE | {source} or name == "__version__":
        return True
    if top in ("msg", "srv"):
        return source == "nodes"
    allowed = MAY_IMPORT.get(source) or ABOVE_THE_PARTS.get(source, set())
    return top in allowed or name in allowed


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_point_one_way(path: Path) -> None:
    ours = {name for name in imported(path) if name.startswith("rlt_ros.")}
    wrong = sorted(name for name in ours if not permitted(part(path), name))
    assert wrong == [], f"{part(path)} must not import {wrong}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nothing_depends_on_the_stand_ins(path: Path) -> None:
    assert not {name for name in imported(path) if name.split(".")[0] in ("standalone", "ros2_standin")}


def test_every_part_has_a_rule() -> None:
    parts = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert parts == set(MAY_IMPORT)


def test_everything_but_nodes_imports_without_ros() -> None:
    blocker = Path(__file__).with_name("without_ros.py")
    done = subprocess.run([sys.executable, blocker], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    imported_modules = done.stdout.split()
    expected = [path for path in MODULES if part(path) != "nodes"]
    assert len(imported_modules) == len(expected)
