"""A recorded run through an extractor: rows of its phases, features of its observations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")

from bags import DISCARD, FAILURE, PERIOD, START, SUCCESS, TYPE, Recording, header, image, pixels, run

from rlt_ros.data.bags.bag import Bag
from rlt_ros.data.bags.errors import BagError
from rlt_ros.data.bags.raw_pictures import RawPictures
from rlt_ros.loop.bag_features import BagFeatures
from rlt_ros.types import Features, Observation, Transition

CHUNK = 4
STEPS = 10


class Extractor:
    """Features that show which observation and which picture they are of."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def features(self, observations: Sequence[Observation]) -> list[Features]:
        self.batches.append(len(observations))
        return [self._one(o) for o in observations]

    @staticmethod
    def _one(o: Observation) -> Features:
        z = np.array([o.id, o.images["front"].mean()], np.float32)
        return Features(o.id, o.stamp, o.episode, o.step, z, o.proprio, np.zeros((CHUNK, 7), np.float32))


def recorded(path: Path, labels: Sequence[int] = (SUCCESS, FAILURE), **options: object) -> Path:
    """Phases as `bags.run` makes them, with the operator's words and chunks that weights 7 have driven."""
    made = run([(STEPS, label) for label in labels], **options)
    for topic, receipt, message in list(made.messages):
        if topic == "/rlt/executed_step":
            word = TYPE["rlt_ros/msg/PolicyMode"](**words(message))
            made.add("/rlt/policy_mode", receipt - 5_000_000, word)
            chunk = TYPE["rlt_ros/msg/ActionChunk"](
                header=message.header, features_id=message.observation_id, actions=np.zeros(7, np.float32), horizon=1,
                action_dim=7, driver=1, phase_id=message.phase_id, weights_version=7,
            )  # fmt: skip
            message.chunk_id = message.observation_id
            made.add("/rlt/action_chunk", receipt - 4_000_000, chunk)
    return made.write(path)


def words(step) -> dict[str, object]:
    fields = {name: 0 for name in TYPE["rlt_ros/msg/PolicyMode"].__dataclass_fields__ if not name.startswith("__")}
    known = {"header": step.header, "observation_id": step.observation_id, "phase_id": step.phase_id, "record": True}
    lists = {"reset_start": np.zeros(0)} if "reset_start" in fields else {}
    return fields | {"episode": step.episode, "explore": False, "evaluation": False} | lists | known


def made(bag_path: Path, extractor: Extractor, **options: object) -> tuple[list[Transition], BagFeatures]:
    with Bag(bag_path) as bag:
        through = BagFeatures(extractor, CHUNK, PERIOD / 1e9, "bag/s", **options)
        return list(through.rows(bag)), through


def test_phases_become_rows_with_new_features(tmp_path: Path) -> None:
    extractor = Extractor()
    rows, through = made(recorded(tmp_path / "bag"), extractor, batch=3)
    assert through.phases == 2
    assert [row.id for row in rows] == list(range(1, len(rows) + 1))
    assert {row.stream for row in rows} == {"bag/s"}
    assert [row.last_of_phase for row in rows].count(True) == 2
    assert {row.weights_version for row in rows} == {7}
    carried = {features.id: features for row in rows for features in row.features}
    assert all(features.z[0] == number for number, features in carried.items())
    assert {row.features_id for row in rows} <= set(carried)
    assert max(extractor.batches) == 3
    assert through.passes == len(carried) == sum(extractor.batches)


def test_a_discarded_phase_leaves_no_rows(tmp_path: Path) -> None:
    rows, through = made(recorded(tmp_path / "bag", [DISCARD, SUCCESS]), Extractor())
    assert {row.phase_id for row in rows} == {2}
    assert through.dropped["discarded"] > 0


def test_rows_whose_observation_was_not_recorded_are_left_out(tmp_path: Path) -> None:
    whole, _ = made(recorded(tmp_path / "whole", [SUCCESS]), Extractor())
    lost = whole[1].features_id
    bag = recorded(tmp_path / "bag", [SUCCESS], missing=[("observation", lost)])
    rows, through = made(bag, Extractor())
    assert through.dropped["features"] == len(whole) - len(rows) > 0
    assert all(lost not in (row.features_id, row.next_features_id) for row in rows)


def test_pictures_anew_from_the_cameras(tmp_path: Path) -> None:
    """The newest picture that is not later than the observation, at the size that the checkpoint wants."""
    recording = Recording()
    for number in range(1, 6):
        stamp = START + number * PERIOD
        recording.add("/front", stamp + 1, image(pixels(number, 32), stamp - 1_000))
    bag_path = recording.write(tmp_path / "bag")
    with Bag(bag_path) as bag:
        pictures = RawPictures(bag, {"front": "/front"}, 16, max_age=2 * PERIOD)
        for raw in bag.raw(pictures.topics):
            pictures.add(raw, bag)
    seen = pictures.seen(Observation(3, START + 3 * PERIOD, 1, 3, {}, np.zeros(19, np.float32)))
    assert seen.images["front"].shape == (16, 16, 3)
    assert abs(seen.images["front"].mean() - pixels(3, 32).mean()) < 1
    assert pictures.seen(Observation(9, START + 9 * PERIOD, 1, 9, {}, np.zeros(19, np.float32))) is None
    assert pictures.blind == 1
    with Bag(bag_path) as bag, pytest.raises(BagError, match="no topic '/wrist'; there are /front"):
        RawPictures(bag, {"wrist": "/wrist"}, 16, PERIOD)


def test_a_bag_of_another_profile(tmp_path: Path) -> None:
    recording = Recording()
    recording.add("/rlt/diagnostics", START, header(START))
    bag_path = recording.write(tmp_path / "bag")
    with pytest.raises(BagError, match="one topic of rlt_ros/msg/Observation is needed, there are none: was it rec"):
        made(bag_path, Extractor())
