"""Files of a bag as the stand-in writes and mends them: cut anywhere, damaged, on a full disk."""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("mcap")

from rosbags.rosbag2 import Reader

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "standalone" / "ros2_standin"))

from ros2_standin.bag import mcap_files, mcap_repair, metadata
from ros2_standin.bag.bag_writer import BagWriter, Storage
from ros2_standin.bag.definitions import definition, difference, installed_hash
from ros2_standin.bag.mcap_files import McapFile
from ros2_standin.bag.metadata import Topic
from ros2_standin.bag.playlist import Playlist
from ros2_standin.bag.reindex_verb import main as reindex
from ros2_standin.bag.selection import Selection

START = 1_700_000_000_000_000_000
KIND = "std_msgs/msg/String"
TOPICS = ("/a", "/b")


@pytest.fixture(autouse=True)
def a_chunk_every_few_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcap_files, "CHUNK_BYTES", 300)


def text(number: int) -> bytes:
    """A String in CDR."""
    word = f"message {number}".encode() + b"\0"
    return b"\0\1\0\0" + len(word).to_bytes(4, "little") + word


def written(path: Path, count: int, preset: str = "none") -> bytes:
    """A finished file of so many messages, two of them at each moment, in turns on two topics; its bytes."""
    file = McapFile(path, [Topic(name, KIND) for name in TOPICS], preset)
    for number in range(count):
        file.write(TOPICS[number % 2], text(number), START + number // 2 * 1000, 0, number)
    file.close("")
    return path.read_bytes()


def read(path: Path) -> list[bytes]:
    with Reader(path) as reader:
        assert {c.topic for c in reader.connections} <= set(TOPICS)
        found = [data for _, _, data in reader.messages()]
        assert len(found) == reader.message_count
    return found


@pytest.mark.parametrize("preset", ["none", "zstd_fast"])
def test_a_file_cut_anywhere_keeps_what_was_whole(tmp_path: Path, preset: str) -> None:
    whole = written(tmp_path / "whole.mcap", 30, preset)
    messages = [text(number) for number in range(30)]
    assert read(tmp_path / "whole.mcap") == messages
    path, kept = tmp_path / "cut.mcap", 0
    for length in range(60, len(whole), 7):
        path.write_bytes(whole[:length])
        found = mcap_repair.repair(path)
        assert mcap_repair.finished(path)
        assert read(path) == messages[: found.facts.count] if found.channels else found.facts.count == 0
        assert found.facts.count >= kept, f"fewer messages in {length} bytes than in less"
        kept = found.facts.count
    assert kept == 30


def test_a_mended_file_is_not_changed_again(tmp_path: Path) -> None:
    path = tmp_path / "file.mcap"
    path.write_bytes(written(tmp_path / "whole.mcap", 30)[:1500])
    mcap_repair.repair(path)
    once = path.read_bytes()
    mcap_repair.repair(path)
    assert path.read_bytes() == once


def test_zeros_at_the_end_are_no_messages(tmp_path: Path) -> None:
    """What a power cut leaves."""
    path = tmp_path / "file.mcap"
    path.write_bytes(written(tmp_path / "whole.mcap", 30)[:1500] + bytes(4096))
    found = mcap_repair.repair(path)
    assert read(path) == [text(number) for number in range(found.facts.count)]
    assert found.facts.count > 5


def test_a_damaged_chunk_is_left_out_and_those_behind_it_stay(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    whole = bytearray(written(tmp_path / "whole.mcap", 30))
    place = whole.index(b"message 9")
    whole[place] ^= 1
    path = tmp_path / "file.mcap"
    path.write_bytes(whole[:-40])
    found = mcap_repair.repair(path)
    assert found.damaged == 1
    assert "damaged chunk at byte" in capsys.readouterr().out
    messages = read(path)
    assert text(9) not in messages
    assert messages[0] == text(0) and messages[-1] == text(29)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.mcap").write_bytes(b"something else")
    with pytest.raises(mcap_repair.NotMcap, match=r"file\.mcap: no MCAP file"):
        mcap_repair.repair(tmp_path / "file.mcap")


def test_reindex_leaves_out_a_file_that_was_only_begun(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag, Storage())
    writer.add_topic(Topic("/a", KIND))
    writer.write("/a", text(0), START)
    writer.close()
    before = (bag / metadata.NAME).read_text()
    (bag / metadata.NAME).unlink()
    (bag / "bag_1.mcap").touch()
    assert reindex(Namespace(bag)) is None
    assert "bag_1.mcap: nothing in it" in capsys.readouterr().out
    assert (bag / metadata.NAME).read_text() == before


class Namespace:
    def __init__(self, bag_path: Path) -> None:
        self.bag_path = bag_path


@pytest.mark.parametrize("preset", ["none", "zstd_fast"])
@pytest.mark.parametrize("split", [0, 1000])
def test_wherever_the_disk_refuses_the_bag_is_whole(tmp_path: Path, preset: str, split: int) -> None:
    for limit in range(2600, 4200, 97):
        bag = tmp_path / f"bag{limit}"
        refused = filled(bag, limit, Storage(size=split, preset=preset))
        assert refused or split
        known = metadata.read(bag)
        with Reader(bag) as reader:
            found = [data for _, _, data in reader.messages()]
            counts = {c.topic: c.msgcount for c in reader.connections}
        assert found == [text(number) for number in range(len(found))]
        assert known["message_count"] == len(found) == sum(counts.values()) > 0
        assert counts["/a"] - counts["/b"] in (0, 1)


def filled(bag: Path, limit: int, storage: Storage) -> bool:
    """Write 120 messages where no file may be larger than `limit` bytes; whether some were refused."""
    writer = BagWriter(bag, storage)
    for name in TOPICS:
        writer.add_topic(Topic(name, KIND))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        for number in range(120):
            writer.write(TOPICS[number % 2], text(number), START + number)
    except OSError:
        pass
    try:
        return writer.close() > 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_topics_by_name_type_and_expression() -> None:
    chosen = Selection(
        topics={"/a"}, types={"x/msg/X"}, regex="cam.*image", exclude_topics={"/a/b"}, exclude_regex="raw"
    )
    taken = {
        "/a": ["s"], "/b": ["x/msg/X"], "/camera/image": ["s"], "/camera/image_raw": ["s"], "/c": ["s"],
        "/two": ["x/msg/X", "s"], "/_hidden/camera/image": ["s"],
    }  # fmt: skip
    assert [topic for topic, types in taken.items() if chosen.takes(topic, types)] == ["/a", "/b", "/camera/image"]
    everything = Selection(everything=True, exclude_types={"x/msg/X"})
    assert everything.takes("/a", ["s"]) and not everything.takes("/b", ["x/msg/X"])
    assert Selection(everything=True, include_hidden=True).takes("/_hidden", ["s"])


def test_definitions_hold_every_type_within() -> None:
    image = definition("sensor_msgs/msg/Image")
    assert "\n" + "=" * 80 + "\nMSG: std_msgs/Header\n" in image
    assert "MSG: builtin_interfaces/Time" in image
    assert definition("nobody/msg/Nothing") == ""
    assert installed_hash("sensor_msgs/msg/Image").startswith("RIHS01_")
    assert installed_hash("nobody/msg/Nothing") == ""


def test_another_version_of_a_type_is_described_by_its_fields() -> None:
    kind = "sensor_msgs/msg/JointState"
    assert difference(kind, definition(kind)) == ""
    older = definition(kind).replace("float64[] effort", "float32[] effort").replace("string frame_id", "")
    assert difference(kind, older) == (
        "sensor_msgs/JointState.effort is float32[] in the bag, float64[] here; "
        "std_msgs/Header.frame_id is missing in the bag, string here"
    )


def test_hashes_are_those_that_the_library_computes() -> None:
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_KILTED)
    for kind in ("sensor_msgs/msg/JointState", "std_msgs/msg/String", "tf2_msgs/msg/TFMessage"):
        assert installed_hash(kind) == store.hash_rihs01(kind)


def test_a_playlist_ends_where_it_should(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag, Storage())
    writer.add_topic(Topic("/a", KIND))
    for number in range(20):
        writer.write("/a", text(number), START + number * 100_000_000)
    writer.close()
    with Reader(bag) as reader:

        def played(**options: float) -> list[int]:
            found = Playlist(reader.connections, **options).messages(reader)
            return [round((stamp - START) / 1e8) for _, stamp, _ in found]

        assert played() == list(range(20))
        assert played(offset=1.45) == [15, 16, 17, 18, 19]
        assert played(offset=0.5, duration=0.3) == [5, 6, 7, 8]
        assert played(until=START + 250_000_000) == [0, 1, 2]
