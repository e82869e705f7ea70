"""Files and directories are whole or absent (field reports B30, B32)."""

import pytest

from rlt_ros.data.files import written_aside


def test_a_directory_appears_only_when_complete(tmp_path):
    path = tmp_path / "out" / "checkpoint"
    with written_aside(path) as aside:
        aside.mkdir()
        (aside / "weights").write_text("all")
        assert not path.exists()
    assert (path / "weights").read_text() == "all"
    assert [p.name for p in path.parent.iterdir()] == ["checkpoint"]


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


def test_an_existing_directory_is_refused_before_any_work(tmp_path):
    (tmp_path / "checkpoint").mkdir()
    with pytest.raises(FileExistsError, match="checkpoint"), written_aside(tmp_path / "checkpoint"):
        pytest.fail("the body ran")
