"""What Stage 1 may start from: a VLA whose numbers mean something else is refused (field reports A26, D02)."""

from dataclasses import replace

import pytest
from stage1_example import CONFIG, small_stage1

from rlt_ros.data.contract import ContractMismatch
from rlt_ros.data.norm import NormStats
from rlt_ros.robot.config import load_robot
from rlt_ros.token.checkpoint import save_stage1
from rlt_ros.token.stage1 import make_contract
from rlt_ros.token.start import start
from rlt_ros.types import PROPRIO_NAMES
from rlt_ros.vla.tiny import TinyVLA


def saved(folder, indices=()):
    """A Stage-1 checkpoint of a VLA that was made for some entries of the state."""
    config = replace(CONFIG, state_indices=indices)
    parts = small_stage1()
    if indices:
        names, picked = config.proprio_names, list(indices)
        norm = NormStats(names, *(getattr(parts.norm, field)[picked] for field in ("mean", "std", "q01", "q99")))
        vla = TinyVLA(replace(CONFIG.vla, proprio_dim=len(names))).eval()
        parts = replace(parts, norm=norm, vla=vla)
        parts = replace(parts, contract=make_contract(config, load_robot(), norm, vla, parts.token))
    save_stage1(folder, parts, {})
    return folder


def frozen(folder, **changes):
    return replace(CONFIG, **({"vla_from": str(folder), "objective": "frozen"} | changes))


@pytest.mark.parametrize("objective", ["frozen", "sequential", "joint"])
def test_as_many_other_entries_of_the_state_are_refused(tmp_path, objective):
    folder = saved(tmp_path / "first", (0, 1, 2))
    assert start(frozen(folder, state_indices=(0, 1, 2)), load_robot(), 0).norm.names == PROPRIO_NAMES[:3]
    with pytest.raises(ContractMismatch) as caught:
        start(frozen(folder, state_indices=(3, 4, 5), objective=objective), load_robot(), 0)
    assert "proprio_names" in str(caught.value)
    assert repr(PROPRIO_NAMES[:3]) in str(caught.value) and repr(PROPRIO_NAMES[3:6]) in str(caught.value)


def other_scale(robot):
    return replace(robot, action_scale=replace(robot.action_scale, translation=2 * robot.action_scale.translation))


def other_reference(robot):
    position = tuple(x + 0.1 for x in robot.reference_pose.position)
    return replace(robot, reference_pose=replace(robot.reference_pose, position=position))


@pytest.mark.parametrize(
    "field, other",
    [
        ("translation_scale", other_scale),
        ("reference_pose", other_reference),
        ("control_rate", lambda robot: replace(robot, control_rate=10.0)),
    ],
)
def test_a_frozen_vla_of_another_robot_config_is_refused_and_one_that_is_trained_is_not(tmp_path, field, other):
    folder, robot = saved(tmp_path / "first"), other(load_robot())
    with pytest.raises(ContractMismatch, match=field):
        start(frozen(folder), robot, 0)
    start(frozen(folder, objective="sequential"), robot, 0)
