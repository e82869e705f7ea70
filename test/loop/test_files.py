"""Files and directories are whole or absent (field reports B30, B32)."""

import subprocess
import sys

import pytest

from rlt_ros.files import write_whole, written_aside


def test_a_directory_appears_only_when_complete(tmp_path):
    path = tmp_path / "out" / "checkpoint"
    with written_aside(path) as aside:
        aside.mkdir()
        (aside / "weights").write_text("all")
        assert not path.exists()
    assert (path / "weights").read_text() == "all"
    assert [p.name for p in path.parent.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(type(error)), written_aside(path) as aside:
        aside.write_bytes(b"half")
        raise error
    assert [p.name for p in tmp_path.iterdir()] == ["file"] and path.read_bytes() == b"old"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_nothing(tmp_path, error):
    with pytest.raises(type(error)), written_aside(tmp_path / "checkpoint") as aside:
        aside.mkdir()
        (aside / "weights").write_text("half")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), written_aside(path) as aside:
        aside.write_text("new")
        raise RuntimeError
    assert path.read_text() == "old"


def test_what_a_killed_process_left_is_replaced_by_the_next(tmp_path):
    code = (
        "import os, sys, pathlib; from rlt_ros.files import written_aside\n"
        "with written_aside(pathlib.Path(sys.argv[1])) as aside:\n"
        "    aside.mkdir(); (aside / 'half').touch(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "checkpoint"], check=False).returncode == 9
    (left,) = tmp_path.iterdir()
    with written_aside(tmp_path / "checkpoint") as aside:
        assert aside == left
        aside.mkdir()
    assert list((tmp_path / "checkpoint").iterdir()) == []


def test_an_existing_directory_is_refused_before_any_work(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    with pytest.raises(FileExistsError, match="checkpoint"), written_aside(tmp_path / "checkpoint"):
        pytest.fail("the body ran")
