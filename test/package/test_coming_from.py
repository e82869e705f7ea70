"""docs/coming-from.md: every name of ours in its tables is in the code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields

import pytest
from manifest import PACKAGE, ROOT

from rlt_ros.data.contract import Contract
from rlt_ros.lerobot.algorithm import RLTAlgorithm
from rlt_ros.lerobot.config import RLTConfig
from rlt_ros.lerobot.policy import RLTPolicy
from rlt_ros.loop.config import LoopConfig, RecordConfig
from rlt_ros.loop.report import TITLES
from rlt_ros.rl.config import AgentConfig
from rlt_ros.rl.stats import LearnerStats
from rlt_ros.robot.config import Limits, RobotConfig
from rlt_ros.token.config import FitConfig, Stage1Config, TokenConfig

PAGE = (ROOT / "docs" / "coming-from.md").read_text()
CONFIGS = (
    AgentConfig, Contract, FitConfig, LearnerStats, Limits, LoopConfig, RecordConfig, RLTConfig, RobotConfig,
    Stage1Config, TokenConfig,
)  # fmt: skip
CLASSES = (RLTAlgorithm, RLTPolicy)
LAUNCH = "".join(
    path.read_text() for path in (ROOT / "launch" / "stage2.launch.py", PACKAGE / "nodes" / "launch_parts.py")
)
BATCHES = "\n".join((PACKAGE / "lerobot" / name).read_text() for name in ("observations.py", "batches.py"))


def names() -> list[str]:
    """What stands in backticks in the middle column of a table whose middle column is `here`."""
    found, here = [], False
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")][1:-1]
        here = len(cells) == 3 and (here or cells[1] == "here")
        if here:
            found += re.findall(r"`([^`]+)`", cells[1])
    return sorted(set(found))


def is_field(name: str) -> bool:
    owner, _, field = name.partition(".")
    return any(owner == cls.__name__ and field in {f.name for f in fields(cls)} for cls in CONFIGS)


def is_method(name: str) -> bool:
    owner, _, method = name.partition(".")
    return any(owner == cls.__name__ and callable(getattr(cls, method, None)) for cls in CLASSES)


def is_parameter(name: str) -> bool:
    node, _, parameter = name.partition(": ")
    path = PACKAGE / "nodes" / f"{node}.py"
    if not path.exists():
        return False
    text = path.read_text()
    declared = re.findall(r"declare_dataclass\(self, (\w+)", text)
    return f'declare(self, "{parameter}"' in text or any(is_field(f"{name}.{parameter}") for name in declared)


def is_launch_argument(name: str) -> bool:
    declared = re.findall(r'DeclareLaunchArgument\(\s*"(\w+)"', LAUNCH)
    return name in {f"{argument}:=" for argument in declared}


def is_service(name: str) -> bool:
    return f', "{name}", self._on' in (PACKAGE / "nodes" / "teleop.py").read_text()


def is_summary_entry(name: str) -> bool:
    return name.removeprefix("summary.json: ") in TITLES and name.startswith("summary.json: ")


def is_batch_key(name: str) -> bool:
    explained = re.findall(r"^    ([\w.]+)  +\(", BATCHES, re.MULTILINE)
    return name in explained


KINDS: tuple[Callable[[str], bool], ...] = (
    is_field, is_method, is_parameter, is_launch_argument, is_service, is_summary_entry, is_batch_key,
)  # fmt: skip


def test_the_tables_name_things_of_every_kind() -> None:
    assert {kind for kind in KINDS for name in names() if kind(name)} == set(KINDS)
    assert json.dumps(names()).count("AgentConfig.") > 15


@pytest.mark.parametrize("name", names())
def test_the_name_is_in_the_code(name: str) -> None:
    assert any(kind(name) for kind in KINDS), f"docs/coming-from.md names {name}, and nothing here is called so"


@pytest.mark.parametrize("name", ["AgentConfig.gama", "learner: sav_every", "seeds:=", "Contract.check", "reference"])
def test_a_name_that_is_not_there_would_be_noticed(name: str) -> None:
    assert not any(kind(name) for kind in KINDS)
