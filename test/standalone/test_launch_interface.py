"""What the stand-in says: arguments of a launch file, and what it does not support."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from launch_support import LAUNCH_FILES, STANDIN, demo_prefix, environment


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(demo_prefix(tmp_path_factory.mktemp("prefix")))


def ros2(env: dict[str, str], *arguments: object) -> tuple[int, str]:
    command = [sys.executable, STANDIN / "bin/ros2", *map(str, arguments)]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout + result.stderr


def python(env: dict[str, str], code: str) -> str:
    """Return the last line that the code prints, errors included."""
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    return (result.stdout + result.stderr).strip().splitlines()[-1]


def test_show_args(env: dict[str, str]) -> None:
    code, text = ros2(env, "launch", "demo_pkg", "children.launch.py", "--show-args")
    assert code == 0
    assert text.startswith("Arguments (pass arguments as '<name>:=<value>'):\n\n    'first':\n        the signal")
    assert "'on_exit':\n        One of: ['nothing', 'shutdown']\n        (default: 'nothing')" in text


def test_show_args_of_includes(env: dict[str, str]) -> None:
    code, text = ros2(env, "launch", LAUNCH_FILES / "included/part.launch.py", "-s")
    assert code == 0
    assert "    'required':\n        must be given\n\n    'own'" in text


def test_a_required_argument_that_is_missing(env: dict[str, str]) -> None:
    code, text = ros2(env, "launch", LAUNCH_FILES / "included/part.launch.py")
    assert code == 1
    assert "missing required argument 'required' (description: 'must be given'), given: []" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["doctor"], "ros2 doctor is not supported by the stand-in"),
        (["launch", "demo_pkg", "nothing.launch.py"], "file 'nothing.launch.py' was not found in the share directory"),
        (["launch", "no_package", "x.launch.py"], "package 'no_package' not found"),
        (["launch", "demo_pkg"], "no launch file given"),
        (["launch", "--print", "demo_pkg", "children.launch.py"], "ros2 launch --print is not supported"),
    ],
)
def test_errors_of_the_command(env: dict[str, str], arguments: list[str], message: str) -> None:
    code, text = ros2(env, *arguments)
    assert code == 1
    assert message in text


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("from launch.substitutions import Command", "launch.substitutions.Command is not supported"),
        ("from launch_ros.actions import LoadComposableNodes", "launch_ros.actions.LoadComposableNodes is not"),
        ("import launch.frontend", "module launch.frontend is not supported"),
        ("import launch\nlaunch.LaunchIntrospector", "launch.LaunchIntrospector is not supported"),
        (
            "from launch.actions import ExecuteProcess\nExecuteProcess(cmd=['x'], cached_output=True)",
            "ExecuteProcess: keyword argument 'cached_output' is not supported",
        ),
        ("from launch_ros.actions import Node\nNode(executable='x', plugin='y')", "Node: keyword argument 'plugin'"),
        (
            "from launch.launch_description_sources import get_launch_description_from_any_launch_file as get\n"
            "get('a.launch.xml')",
            "a launch file that is not Python is not supported",
        ),
    ],
)
def test_what_is_not_supported_says_so(env: dict[str, str], code: str, message: str) -> None:
    assert message in python(env, code)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{'x': []}", "Expected a non-empty sequence of one scalar type for parameter x"),
        ("{'x': [1, 'a']}", "Expected a non-empty sequence of one scalar type for parameter x"),
        ("{'x': None}", "Unexpected type for parameter value None"),
        ("{'x': LaunchConfiguration('c', default='a: b')}", "wrap it in ParameterValue(value, value_type=str)"),
        ("{'x': ParameterValue(LaunchConfiguration('c', default='a'), value_type=int)}", "invalid literal for int()"),
    ],
)
def test_wrong_parameters(env: dict[str, str], tmp_path: Path, value: str, message: str) -> None:
    file = tmp_path / "x.launch.py"
    file.write_text(
        "from launch import LaunchDescription\n"
        "from launch.substitutions import LaunchConfiguration\n"
        "from launch_ros.actions import Node\n"
        "from launch_ros.parameter_descriptions import ParameterValue\n"
        "def generate_launch_description():\n"
        f"    return LaunchDescription([Node(executable='/bin/true', parameters=[{value}])])\n"
    )
    code, text = ros2(env, "launch", file)
    assert code == 1
    assert message in text
