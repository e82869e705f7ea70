"""`ros2 bag record|info|play|reindex` as processes, with real messages between them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy")
pytest.importorskip("mcap")

from ros2_support import TALKER, Running, in_domain, ros2, running, until, verb
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader

TOPICS = ("/demo/chatter", "/demo/description", "/demo/picture")
ENV, PLAYED = in_domain(72), in_domain(73)


@pytest.fixture(scope="module", autouse=True)
def talker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with running([sys.executable, TALKER], ENV, tmp_path_factory.mktemp("talker") / "log"):
        until(lambda: "/demo/talker" in ros2(ENV, "node", "list").stdout, "the talker")
        yield


@contextmanager
def recording(
    bag: Path, *arguments: object, env: dict[str, str] = ENV, topics: tuple = TOPICS, log: Path | None = None
) -> Iterator[Running]:
    command = verb("bag", "record", "-o", bag, *arguments)
    with running(command, env, log or bag.with_suffix(".log")) as recorder:
        for topic in topics:
            recorder.wait_for(f"Subscribed to topic '{topic}'")
        yield recorder


def information(bag: Path) -> dict:
    return yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"]


def counts(bag: Path) -> dict[str, int]:
    return {t["topic_metadata"]["name"]: t["message_count"] for t in information(bag)["topics_with_message_count"]}


def numbers(bag: Path, topic: str) -> list[int]:
    """Numbers of the talker's texts in a bag."""
    with AnyReader([bag]) as reader:
        connections = [c for c in reader.connections if c.topic == topic]
        found = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages(connections=connections)]

    return [int((m.header.frame_id if hasattr(m, "header") else m.data).split()[-1]) for m in found]


def size(bag: Path) -> int:
    return sum(path.stat().st_size for path in bag.glob("*.mcap*")) if bag.exists() else 0


def written(bag: Path, least: int) -> None:
    until(lambda: size(bag) > least, f"{least} bytes in {bag}")


@pytest.fixture(scope="module")
def bag(talker: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some seconds of the talker, all topics."""
    bag = tmp_path_factory.mktemp("bag") / "talk"
    with recording(bag, "-a", "--custom-data", "who=me") as recorder:
        written(bag, 30_000)
        assert recorder.end(signal.SIGINT) == 0, recorder.text
    assert re.search(r"Recording stopped, \d+ messages", recorder.text)
    return bag


def test_a_recorded_bag_is_whole(bag: Path) -> None:
    known, found = information(bag), counts(bag)
    assert known["version"] == 9
    assert known["relative_file_paths"] == ["talk_0.mcap"]
    assert known["custom_data"] == {"who": "me"}
    assert known["message_count"] == sum(found.values())
    assert found["/demo/description"] == 1  # it was latched before the recorder came
    chatter = numbers(bag, "/demo/chatter")
    assert len(chatter) == found["/demo/chatter"] > 20
    assert chatter == list(range(chatter[0], chatter[-1] + 1))  # nothing is missing in between
    topics = {t["topic_metadata"]["name"]: t["topic_metadata"] for t in known["topics_with_message_count"]}
    assert all(topic["type_description_hash"].startswith("RIHS01_") for topic in topics.values())
    assert topics["/demo/description"]["offered_qos_profiles"][0]["durability"] == "transient_local"
    assert topics["/demo/picture"]["offered_qos_profiles"][0]["reliability"] == "best_effort"
    with Reader(bag) as reader:
        definitions = {c.msgtype: c.msgdef.data for c in reader.connections}
        assert {c.topic: c.msgcount for c in reader.connections} == found
    assert "MSG: std_msgs/Header" in definitions["sensor_msgs/msg/Image"]


def test_info(bag: Path) -> None:
    text = ros2(ENV, "bag", "info", bag).stdout
    assert text.startswith("\nFiles:             talk_0.mcap\nBag size:          ")
    assert "Storage id:        mcap\nROS Distro:        kilted\nDuration:          " in text
    assert f"\nMessages:          {information(bag)['message_count']}\nTopic information: Topic: /demo/chatter" in text
    line = "Topic: /demo/description | Type: std_msgs/msg/String | Count: 1 | Serialization Format: cdr"
    assert f"\n                   {line}\n" in text
    assert ros2(ENV, "bag", "info", "-t", bag).stdout.splitlines() == sorted(counts(bag))
    assert "Count: 1 | Size Contribution: 20 B |" in ros2(ENV, "bag", "info", "-v", bag).stdout
    assert "Messages:" in ros2(ENV, "bag", "info", bag / "talk_0.mcap").stdout


def test_what_is_played_is_what_was_recorded(bag: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    play = verb("bag", "play", bag, "--delay", "3", "--topics", *TOPICS, "--rate", "2", "--clock", "50")
    with running(play, PLAYED, tmp_path / "play.log") as player:
        with recording(again, "-a", env=PLAYED, topics=(*TOPICS, "/clock")) as recorder:
            assert player.process.wait(60) == 0, player.text
            recorder.end(signal.SIGTERM)
    assert numbers(again, "/demo/chatter") == numbers(bag, "/demo/chatter")
    assert numbers(again, "/demo/picture") == numbers(bag, "/demo/picture")
    assert counts(again)["/demo/description"] == 1
    assert counts(again)["/clock"] > 10
    offered = {
        t["topic_metadata"]["name"]: t["topic_metadata"] for t in information(again)["topics_with_message_count"]
    }
    before = {t["topic_metadata"]["name"]: t["topic_metadata"] for t in information(bag)["topics_with_message_count"]}
    for topic in TOPICS:
        assert offered[topic]["type_description_hash"] == before[topic]["type_description_hash"]
        for policy in ("reliability", "durability"):
            found, wanted = (b[topic]["offered_qos_profiles"][0][policy] for b in (offered, before))
            assert found == wanted


def test_who_joins_late_gets_what_was_latched(bag: Path, tmp_path: Path) -> None:
    command = verb("bag", "play", bag, "--topics", "/demo/description", "/demo/chatter", "--rate", "0.1")
    with running(command, in_domain(74), tmp_path / "log"):
        echo = ("topic", "echo", "/demo/description", "std_msgs/msg/String", "--qos-durability", "transient_local")
        shown = ros2(in_domain(74), *echo, "--qos-reliability", "reliable", "--once")
    assert shown.stdout == "data: what it is\n---\n"


def test_play_under_other_names_over_and_over_from_the_middle(bag: Path, tmp_path: Path) -> None:
    env = in_domain(75)
    options = ("--remap", "/demo/chatter:=/replay/chatter", "--loop", "--start-offset", "0.5", "--rate", "4")
    again = tmp_path / "again"
    play = verb("bag", "play", bag, "--delay", "1", "--topics", "/demo/chatter", *options)
    with running(play, env, tmp_path / "log") as player:
        with recording(again, "--topics", "/replay/chatter", env=env, topics=("/replay/chatter",)) as recorder:
            until(lambda: size(again) > 15_000, "messages")
            recorder.end()
        assert player.end() == 0
    first = numbers(bag, "/demo/chatter")[0]
    found = numbers(again, "/replay/chatter")
    assert min(found) >= first + 5
    assert any(later < earlier for earlier, later in zip(found, found[1:], strict=False))  # it began again
    assert set(counts(again)) == {"/replay/chatter"}


def test_splitting_and_compression(tmp_path: Path) -> None:
    for name, options in {
        "chunks": ("--storage-preset-profile", "zstd_fast"),
        "messages": ("--compression-mode", "message", "--compression-format", "zstd"),
        "files": ("--compression-mode", "file", "--compression-format", "zstd"),
    }.items():
        bag = tmp_path / name
        with recording(bag, "-a", "--exclude-topics", "/demo/picture", "--max-bag-duration", "1", *options,
                       topics=TOPICS[:2]) as recorder:  # fmt: skip
            until(lambda bag=bag: len(list(bag.glob("*.mcap*"))) >= 3, "three files")
            assert recorder.end() == 0, recorder.text
        known = information(bag)
        assert [f["path"] for f in known["files"]] == known["relative_file_paths"]
        assert len(known["files"]) >= 2
        assert sum(f["message_count"] for f in known["files"]) == known["message_count"]
        assert known["compression_mode"] == {"chunks": "", "messages": "MESSAGE", "files": "FILE"}[name]
        found = numbers(bag, "/demo/chatter")
        assert found == list(range(found[0], found[-1] + 1))
        assert "/demo/picture" not in counts(bag)


def test_splitting_by_size(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with recording(bag, "-a", "--max-bag-size", "3000") as recorder:
        until(lambda: len(list(bag.glob("*.mcap"))) >= 3, "three files")
        recorder.end()
    found = numbers(bag, "/demo/chatter")
    assert found == list(range(found[0], found[-1] + 1))
    assert all(path.stat().st_size > 3000 for path in sorted(bag.glob("*.mcap"))[:-1])


def test_a_topic_that_appears_later(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with recording(bag, "--regex", "/demo/(late|chatter)", topics=TOPICS[:1]) as recorder:
        ros2(ENV, "service", "call", "/demo/switch", "std_srvs/srv/SetBool", "{data: true}")
        recorder.wait_for("Subscribed to topic '/demo/late'")
        written(bag, size(bag) + 6_000)
        recorder.end()
    assert set(counts(bag)) == {"/demo/late", "/demo/chatter"}
    assert counts(bag)["/demo/late"] > 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_metadata(tmp_path: Path, number: signal.Signals) -> None:
    bag = tmp_path / "bag"
    with recording(bag, "-a") as recorder:
        written(bag, 2_000)
        assert recorder.end(number) == 0, recorder.text
    assert len(numbers(bag, "/demo/chatter")) == counts(bag)["/demo/chatter"] > 0


@pytest.mark.parametrize("options", [(), ("--max-bag-duration", "1"), ("--storage-preset-profile", "zstd_fast")])
def test_a_killed_recorder_loses_a_second(tmp_path: Path, options: tuple[str, ...]) -> None:
    bag = tmp_path / "bag"
    with recording(bag, "-a", *options) as recorder:
        written(bag, 40_000)
        recorder.end(signal.SIGKILL)
    assert not (bag / "metadata.yaml").exists()
    refused = ros2(ENV, "bag", "info", bag)
    assert refused.returncode == 1
    assert f"`ros2 bag reindex {bag}`" in refused.stderr
    with sorted(bag.glob("*.mcap"))[-1].open("ab") as file:
        file.write(b"\x06" + (1000).to_bytes(8, "little") + b"torn")
    mended = ros2(ENV, "bag", "reindex", bag)
    assert mended.returncode == 0, mended.stderr
    found = numbers(bag, "/demo/chatter")
    assert found == list(range(found[0], found[-1] + 1))
    assert len(found) == counts(bag)["/demo/chatter"] > 10
    assert information(bag)["storage_identifier"] == "mcap"
    assert ros2(ENV, "bag", "info", bag).returncode == 0
    before = (bag / "metadata.yaml").read_text()
    assert ros2(ENV, "bag", "reindex", bag).returncode == 0  # of a bag that is whole: the same again
    assert (bag / "metadata.yaml").read_text() == before


def test_a_full_disk_ends_the_recording_and_nothing_else(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        with recording(disk / "bag", "-a", log=tmp_path / "log") as recorder:
            assert recorder.process.wait(60) == 1
        assert "recording ends, the disk refuses: [Errno 28] No space left on device" in recorder.text
        found = numbers(disk / "bag", "/demo/chatter")
        assert found == list(range(found[0], found[-1] + 1))
        assert len(found) == counts(disk / "bag")["/demo/chatter"] > 10
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 1, "Need to specify at least one of --all"),
        (["-a", "--frobnicate"], 2, "unrecognized arguments: --frobnicate"),
        (["/x", "--exclude-topics", "/y"], 1, "--exclude-topics argument requires either --all"),
        (["-a", "--compression-format", "zstd"], 1, "Cannot specify compression format without a compression mode."),
        (["-a", "--use-sim-time", "--no-discovery"], 1, "incompatible settings"),
        (["-a", "--storage", "sqlite3"], 2, "invalid choice: 'sqlite3'"),
        (["-a", "--qos-profile-overrides-path", "/nowhere.yaml"], 2, "can't open '/nowhere.yaml'"),
    ],
)
def test_what_record_refuses(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    result = ros2(ENV, "bag", "record", "-o", tmp_path / "bag", *arguments)
    assert result.returncode == code
    assert message in result.stderr
    assert not (tmp_path / "bag").exists()


def test_a_bag_that_exists_is_not_touched(bag: Path) -> None:
    result = ros2(ENV, "bag", "record", "-a", "-o", bag)
    assert (result.returncode, result.stderr) == (1, f"[ERROR] [ros2bag]: Output folder '{bag}' already exists.\n")


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("/x: {reliability: sure}", "/x: reliability is 'sure'; expected one of"),
        ("/x: {depth: -1}", "/x: `depth` may not be a negative value."),
        ("/x: {dept: 1}", "Unexpected key `dept` for QoS profile of /x."),
    ],
)
def test_overrides_that_say_nothing(tmp_path: Path, profile: str, message: str) -> None:
    (tmp_path / "qos.yaml").write_text(profile)
    result = ros2(ENV, "bag", "record", "-a", "--qos-profile-overrides-path", tmp_path / "qos.yaml", cwd=tmp_path)
    assert result.returncode == 1
    assert message in result.stderr


def test_stamps_that_were_never_times(bag: Path, tmp_path: Path) -> None:
    """Field report B34."""
    strange = tmp_path / "strange"
    with Reader(bag) as reader, writer_of(strange) as target:
        connections = {}
        for connection, stamp, data in reader.messages():
            if connection.topic != "/demo/chatter":
                continue
            if not connections:
                connections[connection.topic] = target.add_connection(
                    connection.topic, connection.msgtype, msgdef=connection.msgdef.data, rihs01=connection.digest,
                    offered_qos_profiles=connection.ext.offered_qos_profiles,
                )  # fmt: skip
                target.write(connections[connection.topic], 7, data)
            target.write(connections[connection.topic], stamp, data)
        target.write(connections["/demo/chatter"], 2**62, data)
    played = ros2(in_domain(76), "bag", "play", strange, "--rate", "20")
    assert played.returncode == 0
    assert "2 messages of /demo/chatter left out: their stamps are days off those around them" in played.stderr
    described = ros2(ENV, "bag", "info", strange)
    assert described.returncode == 0
    assert "are there messages with absurd stamps in it?" in described.stderr


def writer_of(path: Path):
    from rosbags.rosbag2 import StoragePlugin, Writer

    return Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)


def test_types_that_are_not_here(bag: Path, tmp_path: Path) -> None:
    """Field report B35: named, not played as something else."""
    other = tmp_path / "other"
    text = (bag / "metadata.yaml").read_text()
    digest = next(
        t["topic_metadata"]["type_description_hash"]
        for t in information(bag)["topics_with_message_count"]
        if t["topic_metadata"]["name"] == "/demo/picture"
    )
    other.mkdir()
    (other / "talk_0.mcap").symlink_to(bag / "talk_0.mcap")
    (other / "metadata.yaml").write_text(text.replace(digest, "RIHS01_" + "0" * 64))
    played = ros2(in_domain(77), "bag", "play", other, "--rate", "20")
    assert "/demo/picture is not played: sensor_msgs/msg/Image in the bag is RIHS01_0000" in played.stderr
    assert played.returncode == 0
    alone = ros2(in_domain(77), "bag", "play", other, "--topics", "/demo/picture")
    assert alone.returncode == 1
    assert f"nothing to play in {other}" in alone.stderr
