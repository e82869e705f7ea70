"""`rlt bag-report` on bags of our own topics: what it counts, what it says is missing, what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from bags import (
    DISCARD,
    FAILURE,
    HOLD,
    HUMAN,
    PERIOD,
    START,
    SUCCESS,
    VLA,
    Recording,
    event,
    observation,
    pose,
    run,
    step,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from rlt_ros.data.bags.bag import Bag
from rlt_ros.data.bags.definitions import message_folder, own_types
from rlt_ros.data.bags.report_cli import main
from rlt_ros.data.bags.survey import Survey, survey
from rlt_ros.data.bags.timing import Timing

STEPS, OBSERVATIONS = "/rlt/executed_step", "/rlt/observation"


def surveyed(recording: Recording, tmp_path: Path) -> Survey:
    with Bag(recording.write(tmp_path / "bag")) as bag:
        return survey(bag)


def cut(recording: Recording, first: int) -> Recording:
    """Without the messages before the receipt of observation `first`."""
    begin = START + first * PERIOD
    return Recording([entry for entry in recording.messages if entry[1] >= begin])


def test_phases_labels_and_rates_are_those_of_the_run(tmp_path: Path) -> None:
    found = surveyed(run([(20, SUCCESS), (15, FAILURE), (10, DISCARD)]), tmp_path)
    assert [(p.number, p.label.name, p.steps, p.lost, p.cut) for p in found.phases] == [
        (1, "SUCCESS", 20, 0, ""), (2, "FAILURE", 15, 0, ""), (3, "DISCARD", 10, 0, ""),
    ]  # fmt: skip
    assert found.lost == {OBSERVATIONS: 0, STEPS: 0} and found.damage == ""
    assert found.topics[STEPS].rate == pytest.approx(20.0) and found.topics[STEPS].gaps() == []
    np.testing.assert_allclose(found.topics[OBSERVATIONS].ages(), 0.002)
    np.testing.assert_allclose(found.answers[STEPS], 0.007)
    assert found.seconds == pytest.approx(54 / 20, abs=0.1)


def test_interventions_and_holds_are_counted(tmp_path: Path) -> None:
    made, drivers = Recording(), [VLA] * 5 + [HUMAN] * 3 + [VLA] * 2 + [HOLD] * 2 + [HUMAN]
    for number, driver in enumerate([VLA, *drivers], 1):
        stamp = START + number * PERIOD
        reason = "force: 41.0 N" if driver == HOLD else ""
        made.add(OBSERVATIONS, stamp, observation(number, stamp))
        made.add(STEPS, stamp + 1, step(number, stamp, driver, int(number > 1), reason=reason))
    made.add("/rlt/episode_event", stamp + PERIOD, event(number + 1, stamp + PERIOD, 1, SUCCESS))
    (phase,) = surveyed(made, tmp_path).phases
    assert phase.drivers == {"VLA": 7, "HUMAN": 4, "HOLD": 2} and phase.helps == 2 and phase.holds == {"force": 2}


def test_what_was_not_recorded_is_counted_by_its_numbers(tmp_path: Path) -> None:
    missing = [("executed_step", 10), ("executed_step", 11), ("observation", 30)]
    found = surveyed(run([(20, SUCCESS), (20, SUCCESS)], missing=missing), tmp_path)
    assert found.lost == {STEPS: 2, OBSERVATIONS: 1}
    assert [phase.lost for phase in found.phases] == [2, 0]


def test_what_was_sent_again_or_came_late_is_no_loss(tmp_path: Path) -> None:
    made = run([(20, SUCCESS)])
    late = [(topic, receipt + 3 * PERIOD, message) for topic, receipt, message in made.messages if receipt % 7 == 0]
    again = [(topic, receipt + 5 * PERIOD, message) for topic, receipt, message in made.messages]
    moved = [entry for entry in made.messages if entry[1] % 7 != 0]
    found = surveyed(Recording(moved + late + again), tmp_path)
    assert found.lost == {STEPS: 0, OBSERVATIONS: 0}
    assert [(phase.steps, phase.lost) for phase in found.phases] == [(20, 0)]


def test_a_pause_of_the_recorder_is_a_gap(tmp_path: Path) -> None:
    made = run([(40, SUCCESS)])
    hole = [entry for entry in made.messages if not START + 20 * PERIOD <= entry[1] < START + 30 * PERIOD]
    ((at, length),) = surveyed(Recording(hole), tmp_path).topics[OBSERVATIONS].gaps()
    assert length == pytest.approx(11 * 0.05) and at == START + 19 * PERIOD + 2_000_000


def test_a_bag_that_begins_or_ends_within_a_phase_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = run([(20, SUCCESS), (20, SUCCESS)])
    made.messages = [entry for entry in cut(made, 10).messages if entry[1] < START + 40 * PERIOD]
    first, last = surveyed(made, tmp_path).phases
    assert "begins within" in first.cut and first.label.name == "SUCCESS" and first.steps < 20
    assert "ends within" in last.cut and last.label is None
    assert main([str(tmp_path / "bag")]) == 0
    out = capsys.readouterr().out
    assert "the bag begins within it" in out and "the bag ends within it" in out


def test_a_restarted_graph_is_a_second_run_and_no_loss(tmp_path: Path) -> None:
    first, second = run([(20, SUCCESS)], ids_from=50), run([(10, FAILURE)], stamps_from=200)
    found = surveyed(Recording(first.messages + second.messages), tmp_path)
    assert [(phase.run, phase.label.name) for phase in found.phases] == [(0, "SUCCESS"), (1, "FAILURE")]
    assert found.lost == {STEPS: 0, OBSERVATIONS: 0}


def test_json_and_plots_hold_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    bag = run([(20, SUCCESS), (15, FAILURE)]).write(tmp_path / "bag")
    assert main([str(bag), "--json", "--plots", str(tmp_path / "plots")]) == 0
    told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert told["labels"] == {"SUCCESS": 1, "FAILURE": 1} and told["topics"][STEPS]["lost"] == 0
    assert told["topics"][STEPS]["age_ms"]["p50"] == pytest.approx(9.0)
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {"phases.png", "topics.png", "latency.png"}


def test_simulated_stamps_give_no_ages() -> None:
    timing = Timing("std_msgs/msg/Header")
    for number in range(10):
        timing.add(START + number * PERIOD, 1 + number * PERIOD, 8)
    assert timing.other_clock and len(timing.ages()) == 0 and timing.rate == pytest.approx(20.0)


@pytest.mark.parametrize("kind", ["absent", "empty directory", "text"])
def test_what_is_no_bag_is_refused_by_name(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bag.mcap"
    if kind == "empty directory":
        path.mkdir()
    elif kind == "text":
        path.write_text("no bag")
    assert main([str(path)]) == 2
    assert str(path) in capsys.readouterr().err


def test_a_bag_of_other_topics_has_no_phases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Recording()
    for number in range(20):
        made.add("/tool", START + number * PERIOD, pose((0.1, 0.2, 0.3), START + number * PERIOD))
    assert main([str(made.write(tmp_path / "bag"))]) == 0
    assert "no critical phase" in capsys.readouterr().out


def test_steps_of_before_sent_and_asked_were_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """ExecutedStep.msg as it first was: its `action` is what was sent."""
    kind, store = "rlt_ros/msg/ExecutedStep", get_typestore(Stores.ROS2_KILTED)
    text = re.sub(r"(?m)^float32\[\] sent .*\n", "", (message_folder() / "ExecutedStep.msg").read_text())
    today = own_types(message_folder())
    store.register(today | get_types_from_msg(text, kind))
    path = tmp_path / "bag"
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(STEPS, kind, typestore=store)
        for number in (1, 2, 4):
            made = step(number, START + number * PERIOD)
            values = {name: getattr(made, name) for name, _ in store.fielddefs[kind][1]}
            data = store.serialize_cdr(store.types[kind](**values), kind)
            writer.write(connection, START + number * PERIOD, data)
    with Bag(path) as bag:
        read = [bag.message(raw) for raw in bag.raw([STEPS])]
    assert all((message.sent == message.action).all() and message.sent.size == 7 for message in read)
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert "OTHER VERSION: rlt_ros/msg/ExecutedStep.sent: float32[] here, not in the bag" in printed
    assert re.search(rf"{STEPS}\s+3 .*1", printed)
