"""standalone/environment: what is done is not done again, what is half done is, and failures say where to look."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from manifest import ROOT, copy_sources

sys.path.insert(0, str(ROOT / "standalone" / "environment"))

import activation
import checkout
import interfaces
import packages
import system
from layout import Layout
from mend import MendError, mend_exports
from process import SHOWN_LINES, CommandError, run
from progress import Stage
from stamps import Stamps, fingerprint

from rlt_ros.entry_points import ENTRY_POINTS


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A copy of the checkout beside an empty folder in the shape of a virtual environment."""
    result = Layout(copy_sources(tmp_path / "checkout"))
    (result.venv / "lib" / "python3.11" / "site-packages" / "ros_fastdds.libs").mkdir(parents=True)
    (result.venv / "bin").mkdir()
    return result


def test_stage_is_done_only_for_the_same_inputs(tmp_path: Path) -> None:
    stamps = Stamps(tmp_path)
    assert not stamps.done("packages", "a")
    stamps.begin("packages")
    assert stamps.interrupted("packages")
    stamps.end("packages", "a")
    assert stamps.done("packages", "a")
    assert not stamps.done("packages", "b")
    assert not stamps.interrupted("packages")


def test_stage_that_began_again_is_not_done(tmp_path: Path) -> None:
    stamps = Stamps(tmp_path)
    stamps.end("interfaces", "a")
    stamps.begin("interfaces")
    assert not Stamps(tmp_path).done("interfaces", "a")


def test_fingerprint_follows_contents_and_texts(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("1")
    before = fingerprint([file], "a", "bc")
    assert before == fingerprint([file], "a", "bc")
    assert before != fingerprint([file], "ab", "c")
    file.write_text("2")
    assert before != fingerprint([file], "a", "bc")


def test_an_edited_message_makes_interfaces_due(layout: Layout) -> None:
    before = interfaces.key(layout)
    message = layout.root / "msg" / "Features.msg"
    message.write_text(message.read_text() + "float64 extra  # [m]\n")
    assert interfaces.key(layout) != before


def test_a_moved_environment_makes_packages_due(layout: Layout) -> None:
    before = packages.key(layout)
    moved = layout.root.with_name("elsewhere")
    layout.root.rename(moved)
    assert packages.key(Layout(moved)) != before


def test_failure_shows_the_last_lines_and_the_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    code = "import sys; [print('line', i) for i in range(50)]; sys.exit(3)"
    with pytest.raises(CommandError, match="exit code 3") as caught:
        run([sys.executable, "-c", code], log)
    text = str(caught.value)
    assert "line 49" in text
    assert f"line {50 - SHOWN_LINES}" in text
    assert f"line {50 - SHOWN_LINES - 1}\n" not in text
    assert str(log) in text
    assert "line 0\n" in log.read_text()


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no-such-command: cannot be started"):
        run(["no-such-command"], tmp_path / "x.log")


def test_cancelling_ends_a_command_and_its_children(tmp_path: Path) -> None:
    # The child inherits the pipe: if it were left, reading the output would never end.
    cancelled = Event()
    with pytest.raises(CommandError, match="exit code -15"):
        run(["bash", "-c", "tail -f /dev/null & echo begun; wait"], tmp_path / "x.log", cancelled=cancelled,
            on_line=lambda line: cancelled.set())  # fmt: skip


def test_exports_are_mended_once(layout: Layout) -> None:
    (layout.venv / "lib/python3.11/site-packages/ros_fastdds.libs/libtinyxml2-1.so.6").touch()
    export = layout.venv / "share" / "p" / "cmake" / "pExport.cmake"
    export.parent.mkdir(parents=True)
    export.write_text(
        '"/opt/python/cp311-cp311/include/python3.11;/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"'
        ' "lttng-ust;dl;-rdynamic" "/usr/lib64/libtinyxml2.so"'
    )
    assert mend_exports(layout.venv, Path("/py"), Path("/np")) == 1
    tinyxml2 = layout.venv / "lib/python3.11/site-packages/ros_fastdds.libs/libtinyxml2-1.so.6"
    assert export.read_text() == f'"/py;/np" "dl;-rdynamic" "{tinyxml2}"'
    assert mend_exports(layout.venv, Path("/py"), Path("/np")) == 0


def test_missing_bundled_library_is_an_error(layout: Layout) -> None:
    with pytest.raises(MendError, match="found 0"):
        mend_exports(layout.venv, Path("/py"), Path("/np"))


def test_joined_checkout_has_links_for_the_list(layout: Layout) -> None:
    stale = layout.venv / "lib" / "rlt_ros" / "renamed"
    stale.parent.mkdir(parents=True)
    stale.touch()
    for _ in range(2):
        checkout.join(layout)
    names = {path.name for path in (layout.venv / "lib" / "rlt_ros").iterdir()}
    assert names == set(ENTRY_POINTS) and {"actor", "stage1", "rlt"} < names
    assert all(os.access(layout.venv / "bin" / name, os.X_OK) for name in ("ros2", "rlt"))
    assert (layout.venv / "share" / "rlt_ros" / "launch").resolve() == layout.root / "launch"
    path = (layout.site_packages() / "rlt_ros_checkout.pth").read_text().splitlines()
    assert path[:2] == [str(layout.root), str(layout.generated)]


def test_script_and_environment_say_the_same(layout: Layout) -> None:
    checkout.join(layout)
    inherited = {"PATH": os.environ["PATH"], "MUJOCO_GL": "osmesa"}
    command = ["bash", "-c", f". '{layout.venv}/ros.sh'; env -0"]
    out = subprocess.run(command, env=inherited, stdout=subprocess.PIPE, text=True, check=True).stdout
    sourced = dict(entry.split("=", 1) for entry in out.split("\0") if entry)
    wanted = activation.environment(layout, inherited)
    assert {name: sourced[name] for name in wanted} == wanted
    assert wanted["MUJOCO_GL"] == "osmesa"


def test_remaining_time_follows_the_tool_once_it_reports() -> None:
    stage = Stage("interfaces", 85.0)
    assert stage.remaining() == 85.0
    stage.begin()
    stage.fraction = 1.0
    assert stage.remaining() == 0.0
    stage.end()
    assert "done in" in stage.line()


def test_missing_packages_need_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(system.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(system.MachineError, match="run as root, then try again: apt-get install cmake libegl1"):
        system.install_packages(["cmake", "libegl1"], tmp_path / "x.log")


@pytest.mark.parametrize(
    ("there", "user", "due"),
    [({"apt-get"}, 0, True), ({"apt-get", "chromium"}, 0, False), ({"apt-get"}, 1000, False), (set(), 0, False)],
)
def test_the_browser_is_installed_where_that_is_possible(
    monkeypatch: pytest.MonkeyPatch, there: set[str], user: int, due: bool
) -> None:
    monkeypatch.setattr(system.os, "geteuid", lambda: user)
    monkeypatch.setattr(system.shutil, "which", lambda name: name if name in there else None)
    assert system.browser_is_due() == due


def test_another_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "PYTHON", (3, 99))
    with pytest.raises(system.MachineError, match=r"Python 3\.99 is needed, this is 3\."):
        system.check_platform()
