from __future__ import annotations

import dataclasses

import pytest

from rlt_ros.robot.config import RobotConfig
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.strict import ConfigError, build


def test_defaults_are_the_measured_scene() -> None:
    config = SimConfig()
    assert config.peg.radius == 0.008 and config.peg.clearance == 0.001 and config.peg.success_depth == 0.020
    assert config.control.stiffness == 1200.0 and config.control.rotational_stiffness == 50.0
    assert config.control.error_clip == 0.010 and config.control.physics_rate >= 500.0
    assert config.random.hole == 0.020 and config.random.start_lateral == 0.015
    assert config.peg.shape == "round"


def test_built_from_a_mapping() -> None:
    config = build(SimConfig, {"peg": {"clearance": 0.0005}, "random": {"friction": [0.1, 0.2]}}, "sim.yaml")
    assert config.peg.clearance == 0.0005 and config.random.friction == (0.1, 0.2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"peg": {"clearence": 0.001}}, "clearence"),
        ({"control": {"physics_rate": 200.0}}, "200.0 Hz"),
        ({"peg": {"clearance": 0.0}}, "clearance is 0.0 m"),
        ({"peg": {"shape": "rectangular", "clearance": 0.005}}, "0.005 m; expected 0 to half the peg's width, 0.004 m"),
        ({"peg": {"shape": "oval"}}, "peg.shape is 'oval'; known are round, rectangular"),
        ({"peg": {"success_depth": 0.06}}, "0.06 m reaches through the board of 0.05 m"),
    ],
)
def test_what_cannot_work_is_refused(values: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(SimConfig, values, "sim.yaml")


def test_rates_must_divide(robot: RobotConfig) -> None:
    with pytest.raises(ValueError, match=r"physics_rate 500.0 Hz is no multiple of control_rate 30.0 Hz"):
        PegInsertion(SimConfig(), dataclasses.replace(robot, control_rate=30.0))


def test_unknown_camera_is_refused(robot: RobotConfig) -> None:
    with pytest.raises(ValueError, match="camera 'left' is not simulated; known are front, wrist"):
        PegInsertion(SimConfig(), dataclasses.replace(robot, cameras={"left": "left/image"}))
