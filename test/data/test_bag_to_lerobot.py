"""`rlt bag-to-lerobot` on bags of our own topics. Field reports B24, B27, B31, B33, B34, C20."""

from __future__ import annotations

import json
from pathlib import Path

import bags
import numpy as np
import pytest
from bags import DISCARD, FAILURE, PERIOD, START, SUCCESS, StoragePlugin
from official_run import dumped, needs_lerobot
from rosbags.rosbag2 import Writer
from rosbags.typesys import get_types_from_msg

from rlt_ros.cli import main
from rlt_ros.data.lerobot.demonstrations import load
from rlt_ros.data.lerobot.reader import DatasetReader
from rlt_ros.data.lerobot.writer import DatasetWriter
from rlt_ros.robot.config import load_robot

PHASES = [(8, SUCCESS), (5, DISCARD), (6, FAILURE)]
FIRST, THIRD = range(4, 12), range(23, 29)


def converted(bag: Path, out: Path, *options: str) -> DatasetReader:
    assert main(["bag-to-lerobot", str(bag), str(out), *options]) == 0
    return DatasetReader(out)


def refused(bag: Path, out: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["bag-to-lerobot", str(bag), str(out), *options]) == 1
    assert not list(out.parent.glob(f"*{out.name}*")), "nothing half-written"
    return capsys.readouterr().err


def ids(episode: object) -> list[int]:
    """Observation ids of an episode's frames, by their state."""
    return episode.arrays["observation.state"][:, 1].astype(int).tolist()


@pytest.mark.parametrize("storage", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_critical_phases_become_episodes_frame_for_frame(tmp_path: Path, storage: StoragePlugin) -> None:
    bag = bags.run(PHASES).write(tmp_path / "bag", storage)
    dataset = converted(bag, tmp_path / "out", "--instruction", "put it in")
    assert len(dataset) == 2 and dataset.fps == 20
    for episode, expected in zip(dataset, (FIRST, THIRD)):
        assert ids(episode) == list(expected) and set(episode.tasks) == {"put it in"}
        assert np.array_equal(episode.arrays["action"], [bags.action(i) for i in expected])
        assert np.array_equal(episode.arrays["stamp"], [START + i * PERIOD for i in expected])
        episode.check_grid(20)
        shown = list(episode.pictures("observation.images.wrist"))
        assert all(np.array_equal(rgb, bags.pixels(i + 10_000)) for rgb, i in zip(shown, expected, strict=True))
    assert [bool(episode.arrays["next.success"][-1]) for episode in dataset] == [True, False]


def test_a_phase_within_which_the_bag_begins_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = bags.run(PHASES)
    late = bags.Recording([entry for entry in whole.messages if entry[1] >= START + 6 * PERIOD])
    dataset = converted(late.write(tmp_path / "bag"), tmp_path / "out", "--json", str(tmp_path / "report.json"))
    assert ids(dataset.episode(0)) == list(FIRST)[2:], "a shortened first episode"
    assert "NOTE phase 1: the bag begins within it" in capsys.readouterr().out
    (note,) = json.loads((tmp_path / "report.json").read_text())["notes"]
    assert note["episode"] == "phase 1"
    converted(whole.write(tmp_path / "whole"), tmp_path / "out2")
    assert "NOTE" not in capsys.readouterr().out


@needs_lerobot
def test_the_official_loader_reads_what_was_converted_frame_for_frame(tmp_path: Path) -> None:
    converted(bags.run(PHASES, jitter=0.003).write(tmp_path / "bag"), tmp_path / "out")
    found, numbers = dumped(tmp_path / "out", tmp_path / "frames.npz"), [*FIRST, *THIRD]
    assert np.array_equal(found["observation.state"], [bags.proprio(i) for i in numbers])
    assert np.array_equal(found["action"], [bags.action(i) for i in numbers])
    assert np.array_equal(found["observation.images.front"], [bags.pixels(i) for i in numbers])
    assert int(found["episodes"]) == 2 and int(found["fps"]) == 20


def test_stage_1_reads_it_without_a_mapping(tmp_path: Path) -> None:
    converted(bags.run(PHASES).write(tmp_path / "bag"), tmp_path / "out")
    robot = load_robot()
    first, third = load(tmp_path / "out", None, robot, size=16)
    assert np.allclose(first.actions, [bags.action(i) for i in FIRST]) and first.success
    assert np.allclose(third.proprio, [bags.proprio(i) for i in THIRD]) and not third.success


def test_episodes_from_reset_to_reset_and_whole_runs(tmp_path: Path) -> None:
    bag = bags.run(PHASES).write(tmp_path / "bag")
    whole = converted(bag, tmp_path / "episodes", "--split", "episode")
    assert [ids(e) for e in whole] == [list(range(2, 12)), list(range(21, 29))], "without the reset steps"
    [run] = converted(bag, tmp_path / "run", "--split", "run")
    assert ids(run) == list(range(1, 29))


@pytest.mark.parametrize("jitter", [0.001, 0.004])
def test_jittered_stamps_give_the_same_frames_on_the_grid_and_stay_in_a_column(
    tmp_path: Path, jitter: float, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = bags.run([(200, SUCCESS)], jitter=jitter).write(tmp_path / "bag")
    report = tmp_path / "report.json"
    [episode] = converted(bag, tmp_path / "out", "--json", str(report))
    assert ids(episode) == list(range(4, 204)), "no frame twice, none left out"
    raw = episode.arrays["stamp"]
    assert np.abs(np.diff(raw) - PERIOD).max() > 1e6 * jitter, "the stamps as they were"
    episode.check_grid(20)
    topic = json.loads(report.read_text())["topics"]["/rlt/observation"]
    assert topic["repeated_frames"] == 0
    assert topic["jitter_ms"]["std"] == pytest.approx(1e3 * np.diff(raw).std() / 1e9, rel=0.15)
    assert 0 < topic["age_ms"]["p50"] < 50
    assert "jitter" in capsys.readouterr().out


def test_another_rate_than_that_of_the_deltas_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = bags.run([(20, SUCCESS)]).write(tmp_path / "bag")
    error = refused(bag, tmp_path / "out", capsys, "--rate", "10")
    assert "rate is 10 Hz, but actions are deltas per control step at 20.0 Hz" in error


@pytest.mark.parametrize("topic", ["observation", "executed_step"])
def test_an_episode_with_a_hole_is_left_out_and_the_place_is_named(
    tmp_path: Path, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = bags.run(PHASES, missing=[(topic, 8)]).write(tmp_path / "bag")
    [episode] = converted(bag, tmp_path / "out")
    assert ids(episode) == list(THIRD)
    shown = capsys.readouterr().out
    assert f"frame 4 at 0.200 s: /rlt/{topic}: latest sample is 0.050 s old, limit 0.050 s" in shown
    assert "LEFT OUT phase 1" in shown
    error = refused(bag, tmp_path / "strict", capsys, "--on-fault", "fail")
    assert "1 of 2 episodes have faults" in error and "frame 4" in error


def test_a_step_that_was_not_recorded_is_missed_whatever_age_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = bags.run(PHASES, missing=[("executed_step", 7)]).write(tmp_path / "bag")
    [episode] = converted(bag, tmp_path / "out", "--max-age", "1.0")
    assert ids(episode) == list(THIRD)
    shown = capsys.readouterr().out
    assert "the step of observation 7 was not recorded" in shown
    assert "frame 3: /rlt/observation and /rlt/executed_step are of different moments" in shown


def test_an_interrupted_phase_is_left_out_where_labels_were_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = bags.run(PHASES)
    *others, last = recording.messages
    assert last[0] == "/rlt/episode_event"
    [episode] = converted(bags.Recording(others).write(tmp_path / "bag"), tmp_path / "out")
    assert ids(episode) == list(FIRST)
    assert "LEFT OUT phase 3:\n  its phase has no label" in capsys.readouterr().out
    unlabelled = [item for item in others if item[0] != "/rlt/episode_event"]
    dataset = converted(bags.Recording(unlabelled).write(tmp_path / "no_labels"), tmp_path / "all")
    assert len(dataset) == 3, "nothing is known of discards either"


def test_nothing_is_written_where_no_episode_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = bags.run([(8, SUCCESS)], missing=[("observation", 8)]).write(tmp_path / "bag")
    assert "1 of 1 episodes have faults" in refused(bag, tmp_path / "out", capsys)


def test_absurd_and_missing_stamps_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = bags.run([(8, SUCCESS)])
    for stamp in (2**31 * 10**9 - 1, 0):
        recording.add("/rlt/observation", START + 20 * PERIOD, bags.observation(900, stamp))
    recording.add("/rlt/observation", START + 20 * PERIOD, bags.observation(901, START))
    [episode] = converted(recording.write(tmp_path / "bag"), tmp_path / "out")
    assert ids(episode) == list(FIRST)
    assert "ignored messages: 1 absurd, 1 unstamped, 1 backward" in capsys.readouterr().out


def test_what_is_no_bag_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert "no such file" in refused(tmp_path / "nothing", out, capsys)
    (tmp_path / "folder").mkdir()
    assert "no metadata.yaml" in refused(tmp_path / "folder", out, capsys)
    (tmp_path / "text.mcap").write_text("hello")
    assert "cannot be opened as a bag" in refused(tmp_path / "text.mcap", out, capsys)


def test_a_killed_recorder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = bags.run([(40, SUCCESS)]).write(tmp_path / "bag")
    file = next(bag.glob("*.mcap"))
    whole = file.read_bytes()
    for size in (len(whole) // 2, len(whole) - 20, 30):
        file.write_bytes(whole[:size])
        error = refused(bag, tmp_path / "out", capsys)
        assert "ros2 bag reindex" in error and str(bag) in error
    (bag / "metadata.yaml").unlink()
    assert "ros2 bag reindex" in refused(bag, tmp_path / "out", capsys)


def test_damage_in_the_middle_is_found_while_reading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = bags.run([(40, SUCCESS)]).write(tmp_path / "bag")
    file = next(bag.glob("*.mcap"))
    content = bytearray(file.read_bytes())
    content[20_000:26_000] = bytes(6000)
    file.write_bytes(content)
    error = refused(bag, tmp_path / "out", capsys)
    assert "messages of /rlt/observation can be read; the bag states 43" in error


def test_a_bag_without_our_topics_names_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = bags.Recording()
    recording.add("/pose", START, bags.pose((0, 0, 0), START))
    error = refused(recording.write(tmp_path / "bag"), tmp_path / "out", capsys)
    assert "rlt_ros/msg/Observation is needed, but there is none" in error and "--mapping" in error


def test_a_bag_with_two_robots_asks_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = bags.run([(4, SUCCESS)])
    recording.add("/left/observation", START, bags.observation(1, START))
    error = refused(recording.write(tmp_path / "bag"), tmp_path / "out", capsys)
    assert "/left/observation, /rlt/observation" in error


def test_a_bag_of_an_older_message_names_the_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = bags.run([(4, SUCCESS)])
    old = bags.get_typestore(bags.Stores.ROS2_KILTED)
    text = (
        "std_msgs/Header header\nuint64 observation_id\nuint32 episode\nuint32 step\nuint8 driver\nfloat32[] action\n"
    )
    old.register(get_types_from_msg(text, "rlt_ros/msg/ExecutedStep"))
    kind = old.types["rlt_ros/msg/ExecutedStep"]
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        observations = writer.add_connection("/rlt/observation", "rlt_ros/msg/Observation", typestore=bags.STORE)
        steps = writer.add_connection("/rlt/executed_step", "rlt_ros/msg/ExecutedStep", typestore=old)
        for topic, receipt, message in recording.messages:
            if topic == "/rlt/observation":
                writer.write(observations, receipt, bags.STORE.serialize_cdr(message, message.__msgtype__))
            elif topic == "/rlt/executed_step":
                m = message
                past = kind(m.header, m.observation_id, m.episode, m.step, m.driver, m.action)
                writer.write(steps, receipt, old.serialize_cdr(past, "rlt_ros/msg/ExecutedStep"))
    error = refused(tmp_path / "bag", tmp_path / "out", capsys)
    assert "older messages that cannot be converted" in error
    assert "rlt_ros/msg/ExecutedStep.phase_id: uint32 here, not in the bag" in error
    assert "ExecutedStep.sent" not in error  # that one could be had from `action`


def test_an_existing_directory_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = bags.run(PHASES).write(tmp_path / "bag")
    out = tmp_path / "out"
    out.mkdir()
    assert main(["bag-to-lerobot", str(bag), str(out)]) == 1
    assert "exists already" in capsys.readouterr().err and list(out.iterdir()) == []


def test_ctrl_c_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = bags.run(PHASES).write(tmp_path / "bag")
    saved = []

    def save(self: DatasetWriter, last: dict) -> None:
        if saved:
            raise KeyboardInterrupt
        saved.append(original(self, last))

    original = DatasetWriter.save_episode
    monkeypatch.setattr(DatasetWriter, "save_episode", save)
    assert main(["bag-to-lerobot", str(bag), str(tmp_path / "out")]) == 130
    assert "nothing was written" in capsys.readouterr().err and saved == [0]
    assert not list(tmp_path.glob("*out*"))


def test_an_error_while_frames_are_written_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = bags.run(PHASES)
    # A picture that changes its size in the last phase is seen only when it is read.
    for index, (topic, receipt, message) in enumerate(recording.messages):
        if topic == "/rlt/observation" and message.id == THIRD[2]:
            message.images[0] = bags.image(bags.pixels(1, side=20), START)
            recording.messages[index] = (topic, receipt, message)
    error = refused(recording.write(tmp_path / "bag"), tmp_path / "out", capsys)
    assert "observation.images.front" in error and "(20, 20, 3)" in error


def test_a_grid_that_leaves_a_step_out_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = bags.run([(150, SUCCESS)], period=49_000_000)  # a clock that gains a period in 50 steps
    error = refused(recording.write(tmp_path / "bag"), tmp_path / "out", capsys)
    assert "observation 53 falls on 0 ticks of the grid instead of one" in error


def test_a_grid_that_takes_a_step_twice_is_a_fault_whatever_age_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = bags.run([(150, SUCCESS)], period=51_000_000)
    error = refused(recording.write(tmp_path / "bag"), tmp_path / "out", capsys, "--max-age", "1")
    assert "falls on 2 ticks of the grid instead of one" in error


@pytest.mark.parametrize("first, kept", [(DISCARD, "second"), (SUCCESS, "both")])
def test_a_phase_keeps_its_label_when_a_restarted_teleop_counts_from_1_again(
    tmp_path: Path, first: int, kept: str
) -> None:
    recording = bags.run([(8, first)])
    recording.messages += bags.run([(6, SUCCESS)], ids_from=12, stamps_from=12).messages
    dataset = converted(recording.write(tmp_path / "bag"), tmp_path / "out")
    wanted = [list(range(4, 12)), list(range(15, 21))]
    assert [ids(e) for e in dataset] == {"second": wanted[1:], "both": wanted}[kept]


def test_a_discard_after_a_restart_takes_nothing_else_with_it(tmp_path: Path) -> None:
    recording = bags.run([(8, SUCCESS)])
    recording.messages += bags.run([(6, DISCARD)], ids_from=12, stamps_from=12).messages
    [episode] = converted(recording.write(tmp_path / "bag"), tmp_path / "out")
    assert ids(episode) == list(range(4, 12)) and episode.arrays["next.success"][-1]


def test_a_phase_whose_teleop_died_does_not_get_the_label_of_the_next_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = bags.run([(8, SUCCESS)])
    assert recording.messages.pop()[0] == "/rlt/episode_event"
    recording.messages += bags.run([(6, SUCCESS)], ids_from=12, stamps_from=12).messages
    [episode] = converted(recording.write(tmp_path / "bag"), tmp_path / "out")
    assert ids(episode) == list(range(15, 21)) and "its phase has no label" in capsys.readouterr().out


@pytest.mark.parametrize("split", ["phase", "episode", "run"])
def test_both_runs_of_a_graph_that_was_restarted_are_kept(tmp_path: Path, split: str) -> None:
    recording = bags.run([(8, SUCCESS)])
    recording.messages += bags.run([(6, SUCCESS)], stamps_from=100).messages
    dataset = converted(recording.write(tmp_path / "bag"), tmp_path / "out", "--split", split)
    first = {"phase": 4, "episode": 2, "run": 1}[split]
    assert [ids(e) for e in dataset] == [list(range(first, 12)), list(range(first, 10))]


def test_a_restarted_simulator_whose_time_begins_again_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = bags.run([(8, SUCCESS)])
    again = bags.run([(20, SUCCESS)], stamps_from=-2)
    recording.messages += [(topic, receipt + 10**12, message) for topic, receipt, message in again.messages]
    error = refused(recording.write(tmp_path / "bag"), tmp_path / "out", capsys)
    assert "was a simulator restarted?" in error
