"""The robot config: presets, files based on others, and what is refused with file, key and value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rlt_ros.robot.config import DEFAULT, find_robot, load_robot, preset_names
from rlt_ros.strict import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "robot.yaml"
    path.write_text(text)
    return path


def test_presets_differ_from_the_default_in_nothing_but_their_back_end_and_its_controller() -> None:
    default = load_robot()
    backends = {name: load_robot(name).command.backend for name in preset_names()}
    assert backends == {"fr3_crisp": "cartesian_pose", "fr3_joint_trajectory": "joint_trajectory", "fr3_servo": "twist"}
    for name in backends:
        robot = load_robot(name)
        recovery = replace(robot.recovery, controllers=default.recovery.controllers)
        assert replace(robot, name=default.name, command=default.command, recovery=recovery) == default
    assert load_robot("fr3_crisp") == default


def test_a_file_of_that_name_is_not_taken_for_a_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fr3_servo").write_text(f"base: {DEFAULT}\nname: mine\n")
    assert find_robot("fr3_servo") == Path("fr3_servo") and load_robot("fr3_servo").name == "mine"


def test_a_file_changes_single_keys_of_its_base_and_cameras_as_a_whole(tmp_path: Path) -> None:
    robot = load_robot(written(tmp_path, "base: fr3_crisp\nlimits: {force: 20.0}\ncameras: {top: top/image}\n"))
    assert robot.limits == replace(load_robot().limits, force=20.0)
    assert robot.cameras == {"top": "top/image"}


@pytest.mark.parametrize(
    "text, message",
    [
        ("limits: {forse: 20.0}", "robot.yaml.limits: unknown key 'forse'; known are leash_translation"),
        ("comand: {backend: twist}", "robot.yaml: unknown key 'comand'"),
        ("command: {backend: servo}", "backend is 'servo'; expected cartesian_pose, joint_trajectory or twist"),
        ("command: {joint_trajectory: {lead: 0.3}}", "lead is 0.3; expected more than 0 and at most 0.2"),
        ("command: {cartesian_pose: {stiffness: [1.0]}}", "stiffness has 1 values; expected 6"),
        ("control_rate: 0", "control_rate is 0.0; expected a positive number"),
        ("state_layout: [x, y]", "state_layout is .'x', 'y'.; expected"),
        (
            "camera_mounts: {top: {parent: a, frame: b, position: [0, 0, 0], quaternion: [0, 0, 0, 1]}}",
            "camera_mounts has .top.",
        ),
        ("cameras: [front]", "cameras: expected a mapping"),
        ("cameras: {front: 3}", "cameras.front: expected str, found 3"),
        ("arm: {joints: {velocity: [0, 1, 1, 1, 1, 1, 1]}}", "velocity must be positive"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_robot(written(tmp_path, f"base: {DEFAULT}\n{text}\n"))


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing key 'name'"):
        load_robot(written(tmp_path, DEFAULT.read_text().replace("name: fr3\n", "")))


def test_an_unknown_preset_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match="robot config fr3_crips: no such file; presets are fr3_crisp, "):
        load_robot("fr3_crips")


def test_a_circle_of_bases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="based on this file itself"):
        load_robot(written(tmp_path, "base: robot.yaml\n"))


def test_the_example_of_the_guide_can_be_loaded(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/franka.md").read_text()
    robot = load_robot(written(tmp_path, guide.partition("```yaml\n")[2].partition("```")[0]))
    assert robot.name == "lab_fr3" and robot.limits.workspace.upper == (0.60, 0.10, 0.25)
