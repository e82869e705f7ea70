from __future__ import annotations

from collections.abc import Iterator

import pytest

from rlt_ros.robot.config import RobotConfig, load_robot
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.peg import PegInsertion


@pytest.fixture(scope="session")
def robot() -> RobotConfig:
    return load_robot()


@pytest.fixture(scope="session")
def shared_world(robot: RobotConfig) -> Iterator[PegInsertion]:
    world = PegInsertion(SimConfig(), robot)
    yield world
    world.close()


@pytest.fixture
def world(shared_world: PegInsertion) -> PegInsertion:
    shared_world.reset(1)
    return shared_world
