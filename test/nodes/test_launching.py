"""Which nodes run on which machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from rlt_ros.nodes.launching import ALL_NODES, nodes_here, own_clock, split_notice
from rlt_ros.nodes.robot_end import robots

ROBOT = {"observation", "actor", "executor", "teleop"}


def test_the_two_roles_are_all_nodes_once():
    sides = [nodes_here(role, "", "", simulated=False) for role in ("robot", "gpu")]
    assert sides == [ROBOT, {"features", "learner"}]
    assert nodes_here("all", "", "", simulated=False) == ALL_NODES == sides[0] | sides[1]


def test_the_simulated_robot_is_where_the_robot_is():
    assert nodes_here("robot", "", "", simulated=True) == ROBOT | {"sim"}
    assert nodes_here("gpu", "", "", simulated=True) == {"features", "learner"}


def test_nodes_can_be_named_instead():
    assert nodes_here("all", "learner", "", simulated=True) == {"learner"}
    assert nodes_here("gpu", " sim, actor", "", simulated=True) == {"sim", "actor"}


@pytest.mark.parametrize(("listed", "simulated"), [("learner,critic", True), ("sim", False), ("learner,", True)])
def test_an_unknown_node_is_refused(listed: str, simulated: bool):
    with pytest.raises(RuntimeError, match=f"nodes:={listed} names .*expected some of"):
        nodes_here("all", listed, "", simulated)


@pytest.mark.parametrize("role", ["all", "robot"])
def test_several_robots_are_not_started_by_one_launch(role: str):
    with pytest.raises(RuntimeError, match="robots:=arm1,arm2 goes with role:=gpu"):
        nodes_here(role, "", "arm1,arm2", simulated=True)
    assert nodes_here("gpu", "", "arm1,arm2", simulated=True) == {"features", "learner"}


def links(folder: Path, **states: str) -> Path:
    for name, state in states.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "operstate").write_text(f"{state}\n")
    return folder


def test_what_keeps_the_other_machine_from_being_found_is_said(monkeypatch, tmp_path: Path):
    plugged = links(tmp_path, lo="unknown", eth0="up")
    for name in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "ROS_LOCALHOST_ONLY"):
        monkeypatch.delenv(name, raising=False)
    said = partial(split_notice, frozenset({"features", "learner"}), plugged)
    assert split_notice(ALL_NODES) == split_notice(ALL_NODES | {"sim"}) == ""
    assert said() == "here: features, learner; on other machines: actor, executor, observation, teleop"
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    assert said().endswith("ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST: only this machine's nodes are found")
    monkeypatch.setenv("ROS_STATIC_PEERS", "192.168.1.2")
    assert "found" not in said()


def test_a_machine_without_a_link_is_warned_that_nobody_will_find_it(tmp_path: Path):
    down = links(tmp_path / "down", lo="unknown", eth0="down", eth1="lowerlayerdown")
    assert "no network link is up (eth0: down, eth1: lowerlayerdown): plug in" in split_notice(frozenset(), down)
    assert "(none but lo)" in split_notice(frozenset(), links(tmp_path / "none", lo="unknown"))
    assert "link" not in split_notice(frozenset(), links(tmp_path / "vpn", lo="unknown", eth0="down", tun0="unknown"))
    assert "link" not in split_notice(frozenset(), tmp_path / "not Linux")


def test_simulated_robots_with_a_namespace_have_clocks_of_their_own():
    assert own_clock("") == own_clock("/") == []
    assert own_clock("/arm1") == own_clock("arm1") == [("/clock", "/arm1/clock")]


def test_the_learner_serves_its_own_robot_or_those_that_are_named():
    assert robots("", "/rlt") == ("rlt",)
    assert robots(" ", "/") == ("",)
    assert robots("arm1, /lab/arm2/", "/rlt") == ("arm1", "lab/arm2")
    for listed in ("arm1,arm1", "arm1,", "arm1,/arm1/"):
        with pytest.raises(ValueError, match=f"robots is '{listed}'"):
            robots(listed, "/rlt")
