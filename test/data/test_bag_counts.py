"""What a bag lacks is counted from the numbers in it; a profile names topics that a robot has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from rlt_ros.data.bags.counts import CHUNK, STEP, Counting, text
from rlt_ros.data.bags.profile import RecordProfile, load_profile, resolve
from rlt_ros.robot.config import load_robot
from rlt_ros.strict import ConfigError

ROW, PICTURE = "rlt_ros/msg/Transition", "sensor_msgs/msg/Image"
CONFIG = Path(__file__).parents[2] / "config" / "record"


def stamped(nanoseconds: int) -> SimpleNamespace:
    stamp = SimpleNamespace(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
    return SimpleNamespace(header=SimpleNamespace(stamp=stamp))


def numbered(number: int, **fields: object) -> SimpleNamespace:
    """A message of a stream with a number; stamps rise with the numbers."""
    return SimpleNamespace(**vars(stamped(number * 50_000_000)), **fields)


def step(number: int, chunk: int = 0) -> SimpleNamespace:
    return numbered(number, observation_id=number, chunk_id=chunk)


def row(stream: str, number: int) -> SimpleNamespace:
    return numbered(number, stream=stream, id=number)


def counted(kind: str, messages: list[SimpleNamespace]) -> Counting:
    counting = Counting()
    for message in messages:
        counting.add("/t", kind, message)
    return counting


@pytest.mark.parametrize(
    ("numbers", "lost"),
    [
        ([5, 6, 7], 0),  # the recorder came later: what was before it is not lost from the recording
        ([5, 7, 10], 3),
        ([5, 6, 6, 7, 6], 0),  # sent again
        ([7, 5, 6], 0),  # the order of receipt
    ],
)
def test_steps_are_numbered_by_their_observation(numbers: list[int], lost: int) -> None:
    (count,) = counted(STEP, [step(n) for n in numbers]).table()
    assert (count.messages, count.lost, count.exact) == (len(numbers), lost, True)


def test_a_second_run_in_a_bag_begins_anew() -> None:
    second = [SimpleNamespace(**vars(stamped(10**12 + n)), observation_id=n, chunk_id=0) for n in (2, 3, 5)]
    (count,) = counted(STEP, [*(step(n) for n in (5, 7)), *second]).table()
    assert (count.lost, count.by) == (1 + 1, "observation_id 5..7, 2..5")


def test_rows_are_numbered_from_one_in_each_stream() -> None:
    rows = [row("a", n) for n in (1, 2, 4)] + [row("b", 3)]
    counting = counted(ROW, rows)
    (count,) = counting.table()
    assert count.lost == 1 + 2
    (count,) = counting.table({"/t": 9})  # what the run says that it has published
    assert count.lost == 5


def test_chunks_are_named_by_the_steps_that_came_from_them() -> None:
    counting = Counting()
    for number, chunk in ((5, 5), (6, 5), (7, 7), (8, 0)):
        counting.add("/rlt/executed_step", STEP, step(number, chunk))
    for chunk in (5, 9):  # 9: no step came from it
        counting.add("/rlt/action_chunk", CHUNK, SimpleNamespace(features_id=chunk))
    chunks, steps = counting.table()
    assert (chunks.topic, chunks.messages, chunks.lost) == ("/rlt/action_chunk", 2, 1)
    assert steps.lost == 0


def test_what_has_no_number_is_judged_by_its_rate() -> None:
    period = 33_333_333
    stamps = [n * period for n in range(100) if n not in (10, 11, 50)]
    stamps += [stamps[-1] + 3_000_000_000 + n * period for n in range(10)]  # a pause is no loss
    (count,) = counted(PICTURE, [stamped(s) for s in stamps]).table()
    assert (count.lost, count.exact) == (3, False)
    assert "30.0 Hz" in count.by


def test_the_table() -> None:
    counting = counted(STEP, [step(n) for n in (1, 3)])
    counting.count("/stats", 7)
    assert text(counting.table()).splitlines() == [
        "topic   messages  lost  told by",
        "/stats         7     -  nothing: not numbered",
        "/t             2     1  observation_id 1..3",
    ]


@pytest.mark.parametrize("name", ["learning", "full"])
def test_shipped_profiles_name_topics_of_every_robot(name: str) -> None:
    profile = load_profile(CONFIG / f"{name}.yaml")
    recorded = resolve(profile, load_robot(), "arm", "left")
    assert "/arm/transition" in recorded.topics
    assert recorded.qos["/arm/transition"]["depth"] == 5000
    cameras = {"/left/front/color/image_raw", "/left/wrist/color/image_raw", "/left/front/color/camera_info"}
    assert (cameras <= set(recorded.topics)) == (name == "full")
    assert ("/left/target_pose" in recorded.topics) == (name == "full")
    assert len(set(recorded.topics)) == len(recorded.topics)


def test_full_has_all_of_learning() -> None:
    full, learning = (yaml.safe_load((CONFIG / f"{name}.yaml").read_text()) for name in ("full", "learning"))
    assert set(learning["own"]) < set(full["own"])
    assert set(learning["others"]) < set(full["others"])
    assert learning["qos"].items() <= full["qos"].items()


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            RecordProfile(own=[], robot=["elbow"]),
            "robot: 'elbow' is no topic of the robot config; known are joint_states",
        ),
        (RecordProfile(own=["a"], qos={"b": {}}), "qos: 'b' is none of the recorded topics: a"),
    ],
)
def test_a_profile_that_names_nothing(profile: RecordProfile, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(profile, load_robot(), "", "")


def test_a_profile_with_an_unknown_key(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text("own: []\ncamera: true\n")
    with pytest.raises(ConfigError, match="profile.yaml: unknown key 'camera'"):
        load_profile(tmp_path / "profile.yaml")
