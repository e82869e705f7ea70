"""Weights to a robot behind a slow link: each version arrives before the next one goes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rlt_ros.nodes import robot_end
from rlt_ros.nodes.robot_end import RobotEnd


class Publisher:
    """What the learner's end of a robot publishes on; `taken` says whether the other side has it all."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.taken = True

    def publish(self, message: SimpleNamespace) -> None:
        self.sent.append(message.version)

    def wait_for_all_acked(self, timeout: object) -> bool:
        return self.taken


@pytest.fixture()
def end() -> RobotEnd:
    node = SimpleNamespace(
        create_publisher=lambda kind, topic, profile: publishers.setdefault(topic, Publisher()),
        listen=lambda kind, topic, handler, profile: publishers.setdefault(topic, Publisher()),
        create_service=lambda kind, name, handler: publishers.setdefault(name, Publisher()),
        on_transition=None,
        on_save=None,
        on_fetch=None,
    )
    publishers: dict[str, Publisher] = {}
    made = RobotEnd(node, "arm1")
    made.topics, made.link = set(publishers), publishers["/arm1/policy_weights"]
    return made


def offer(end: RobotEnd, version: int) -> None:
    if end.lacks(version):
        end.give(SimpleNamespace(version=version))


def test_everything_is_under_the_robots_namespace(end: RobotEnd) -> None:
    names = "transition transition_ack policy_weights learner_stats save_checkpoint fetch_weights"
    assert end.topics == {f"/arm1/{name}" for name in names.split()}


def test_a_version_waits_until_the_last_one_has_arrived(end: RobotEnd) -> None:
    offer(end, 1)
    end.link.taken = False
    for version in (2, 3, 4):
        offer(end, version)
    assert end.link.sent == [1]
    end.link.taken = True
    offer(end, 4)
    offer(end, 4)
    assert end.link.sent == [1, 4]


def test_a_robot_that_never_confirms_gets_newer_ones_all_the_same(end: RobotEnd, monkeypatch) -> None:
    offer(end, 1)
    end.link.taken = False
    monkeypatch.setattr(robot_end, "WEIGHTS_PATIENCE", -1.0)
    offer(end, 2)
    assert end.link.sent == [1, 2]
