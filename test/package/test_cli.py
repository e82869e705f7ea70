"""`rlt`: every subcommand is there, and costs nothing until it is called for."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from manifest import ROOT

from rlt_ros.cli import COMMANDS, main


def ran(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_function_of_its_arguments(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module, function = COMMANDS[name][0].split(":")
    parameters = inspect.signature(getattr(import_module(module), function)).parameters
    assert list(parameters) == ["argv"] and parameters["argv"].default is None
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: rlt {name} ")


def test_help_lists_the_commands_and_loads_none_of_them() -> None:
    code = "import sys; from rlt_ros.cli import main\ntry: main(['--help'])\nfinally: print(*sys.modules)"
    shown = ran(sys.executable, "-c", code)
    assert all(f"  {name} " in shown and meaning in shown for name, (_, meaning) in COMMANDS.items())
    assert not {"torch", "mujoco", "rclpy", "numpy"} & set(shown.splitlines()[-1].split())


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fats"])
    assert ended.value.code == 2
    assert "'fats'" in capsys.readouterr().err


def test_module_and_installed_executable_are_the_same_command(tmp_path: Path) -> None:
    executable = tmp_path / "rlt"
    executable.symlink_to(ROOT / "scripts" / "executable")
    assert ran(sys.executable, "-m", "rlt_ros", "--version") == ran(executable, "--version")
