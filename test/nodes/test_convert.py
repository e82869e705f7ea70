"""Messages and vocabulary: what goes out comes back, through real serialisation, and a lie about a shape is refused."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

pytest.importorskip("rlt_ros.msg", reason="the interfaces of rlt_ros are not built")
from rclpy.serialization import deserialize_message, serialize_message

from rlt_ros.nodes import convert as c
from rlt_ros.types import (
    ActionChunk,
    Driver,
    EpisodeEvent,
    ExecutedStep,
    Features,
    Label,
    Mode,
    Phase,
    PolicyMode,
    PolicyWeights,
    Transition,
    TransitionAck,
)

RNG = np.random.default_rng(0)
STAMP = 3 * 10**9 + 17


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


FEATURES = Features(41, STAMP, 3, 8, array(64), array(19), array(20, 7))
TRANSITION = Transition(
    id=7,
    stream="abc",
    episode=3,
    phase_id=2,
    step=8,
    features_id=41,
    next_features_id=51,
    actions=array(10, 7),
    drivers=np.array([0, 1, 2, 0, 0, 1, 1, 1, 0, 0], np.uint8),
    rewards=array(10),
    valid_horizon=9,
    terminated=True,
    truncated=False,
    label=Label.SUCCESS,
    steps_to_end=30,
    weights_version=4,
    last_of_phase=True,
    features=(FEATURES,),
)
UP = (0.0, 0.0, 0.0, 1.0)
CASES = {
    "features": (FEATURES, lambda x: c.features_to_message(x, "k"), c.features_from_message),
    "chunk": (ActionChunk(41, STAMP, array(10, 7), Driver.ACTOR, 2, 5), c.chunk_to_message, c.chunk_from_message),
    "mode": (
        PolicyMode(41, STAMP, Mode.RL, Phase.CRITICAL, 2, 3, True, False, True, 7, (0.5, 0.1, 0.2, *UP)),
        c.mode_to_message,
        c.mode_from_message,
    ),
    "event": (EpisodeEvent(41, STAMP, 3, 2, Label.ABORT), c.event_to_message, c.event_from_message),
    "step": (
        ExecutedStep(41, STAMP, 3, 8, Driver.HUMAN, array(7), array(7), 2, 40, 1, 8, False, True, "why"),
        c.step_to_message,
        c.step_from_message,
    ),
    "transition": (TRANSITION, lambda x: c.transition_to_message(x, "k"), c.transition_from_message),
    "ack": (TransitionAck("abc", 7, 100, 5, 3), lambda x: c.ack_to_message(x, STAMP), c.ack_from_message),
    "weights": (
        PolicyWeights(3, "k", "sum", True, "", b"\x00\x01\xff"),
        lambda x: c.weights_to_message(x, STAMP),
        c.weights_from_message,
    ),
}


def assert_same(a: object, b: object) -> None:
    assert type(a) is type(b)
    for field in fields(a):
        left, right = getattr(a, field.name), getattr(b, field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype and left.shape == right.shape
            np.testing.assert_array_equal(left, right)
        elif isinstance(left, tuple) and left and is_dataclass(left[0]):
            for x, y in zip(left, right, strict=True):
                assert_same(x, y)
        else:
            assert left == right, field.name


@pytest.mark.parametrize("name", CASES)
def test_round_trip_through_serialisation(name: str) -> None:
    value, out, back = CASES[name]
    message = out(value)
    received = deserialize_message(serialize_message(message), type(message))
    assert_same(value, back(received))


def test_stamps_survive_to_the_nanosecond() -> None:
    assert c.stamp_of(c.header(STAMP)) == STAMP


def test_a_wrong_size_names_field_and_both_values() -> None:
    message = c.chunk_to_message(CASES["chunk"][0])
    message.horizon = 9
    with pytest.raises(c.BadMessage, match=r"actions has 70 values; expected 9 x 7"):
        c.chunk_from_message(message)


def test_a_value_that_is_not_finite_names_its_index() -> None:
    message = c.features_to_message(FEATURES, "k")
    message.z_rl[5] = float("nan")
    with pytest.raises(c.BadMessage, match=r"z_rl\[5\] is not finite"):
        c.features_from_message(message)


def test_an_unknown_enumerator_is_refused() -> None:
    message = c.mode_to_message(CASES["mode"][0])
    message.mode = 9
    with pytest.raises(c.BadMessage, match="mode is 9"):
        c.mode_from_message(message)


@pytest.mark.parametrize("start", [[0.5] * 6, [float("nan"), *[0.5] * 6], [0.5, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0]])
def test_a_start_that_is_no_pose_is_refused(start: list[float]) -> None:
    message = c.mode_to_message(CASES["mode"][0])
    message.reset_start = start
    with pytest.raises(c.BadMessage, match="reset_start is .*; expected nothing or a position and a quaternion"):
        c.mode_from_message(message)


def test_received_arrays_are_writable_copies() -> None:
    message = c.features_to_message(FEATURES, "k")
    features = c.features_from_message(message)
    features.z[0] = 5.0
    assert message.z_rl[0] != 5.0


def test_statistics_of_the_learner_go_out_whole_and_without_nan():
    from rlt_ros.rl.stats import LearnerStats

    values = {field.name: 0 for field in fields(LearnerStats) if field.type == "int"}
    values |= {field.name: 0.5 for field in fields(LearnerStats) if field.type == "float"}
    values |= {
        "gate_open": True,
        "gate_reason": "",
        "q_pull": float("inf"),
        "q_gap": float("nan"),
        "alarms": "text",
    }
    stats = LearnerStats(**values, q_members=(0.25, float("nan"), 1.0))
    sent = c.learner_stats(stats, STAMP)
    received = deserialize_message(serialize_message(sent), type(sent))
    assert (received.q_mean, received.q_pull, received.q_gap, received.alarms) == (0.5, 0.0, 0.0, "text")
    assert received.q_members.tolist() == [0.25, 0.0, 1.0]
