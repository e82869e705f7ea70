"""What becomes of the processes of a launch: signals, time-outs, respawn, exit codes, output."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launch_support import LAUNCH_FILES, Ros2, alive, demo_prefix, environment, wait_until

SHORT = ["sigterm_timeout:=0.3", "sigkill_timeout:=0.3"]
CHILDREN = LAUNCH_FILES / "children.launch.py"

Start = Callable[..., Ros2]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_prefix(tmp_path_factory.mktemp("prefix"))


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def start(prefix: Path, log_dir: Path) -> Iterator[Start]:
    """Return a function that starts `ros2 launch` of the children."""
    started: list[Ros2] = []

    def launch(*arguments: object, verb: str = "launch", **popen: object) -> Ros2:
        target = [] if verb == "run" else [CHILDREN]
        started.append(Ros2(environment(prefix, log_dir=log_dir), verb, *target, *arguments, **popen))
        return started[-1]

    yield launch
    for ros2 in started:
        ros2.abandon()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_to_launch_interrupts_all_processes(start: Start, number: signal.Signals) -> None:
    ros2 = start("second:=SIGINT")
    ros2.wait_for("ready", times=2)
    ros2.send(number)
    assert ros2.end() == (0 if number in (signal.SIGINT, signal.SIGTERM) else 1)
    assert ros2.text.count("got SIGINT") == 2
    assert "got SIGTERM" not in ros2.text
    assert ros2.text.count("process has finished cleanly") == 2


def test_sigint_works_where_a_script_has_it_ignored(start: Start) -> None:
    ros2 = start(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    ros2.wait_for("ready")
    ros2.send(signal.SIGINT)
    assert ros2.end() == 0
    assert "got SIGINT" in ros2.text


def test_a_second_sigint_changes_nothing(start: Start) -> None:
    ros2 = start("first:=SIGTERM", *SHORT)
    ros2.wait_for("ready")
    ros2.send(signal.SIGINT)
    ros2.wait_for("got SIGINT")
    ros2.send(signal.SIGINT)
    ros2.wait_for("again, ignoring")
    assert ros2.end() == 0
    assert ros2.text.count("got SIGINT") == 1
    assert "escalating to 'SIGTERM'" in ros2.text


def test_a_second_sigterm_does_not_wait(start: Start) -> None:
    ros2 = start("first:=SIGTERM", "sigterm_timeout:=600")
    ros2.wait_for("ready")
    ros2.send(signal.SIGTERM)
    ros2.wait_for("got SIGINT")
    ros2.send(signal.SIGTERM)
    assert ros2.end() == 0
    assert "got SIGTERM" in ros2.text


def test_who_ignores_everything_is_killed(start: Start) -> None:
    ros2 = start("first:=never", *SHORT)
    ros2.wait_for("ready")
    ros2.send(signal.SIGINT)
    assert ros2.end() == 0
    order = [ros2.text.index(text) for text in ("got SIGINT", "got SIGTERM", "escalating to 'SIGKILL'", "exit code -9")]
    assert order == sorted(order)


def test_ctrl_c_at_a_terminal_reaches_each_process_once(start: Start) -> None:
    terminal, theirs = pty.openpty()
    ros2 = start(stdin=theirs, preexec_fn=lambda: _take_terminal(theirs))
    os.close(theirs)
    ros2.wait_for("ready")
    os.write(terminal, b"\x03")
    assert ros2.end() == 0
    assert ros2.text.count("got SIGINT") == 1
    os.close(terminal)


def _take_terminal(descriptor: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSCTTY, 0)


def test_processes_do_not_outlive_a_killed_launch(start: Start) -> None:
    ros2 = start("first:=SIGTERM", "second:=SIGTERM")
    ros2.wait_for("ready", times=2)
    ros2.send(signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in ros2.pids), "the end of the processes")


def test_a_required_process_ends_the_launch(start: Start) -> None:
    ros2 = start("second:=3", "on_exit:=shutdown")
    assert ros2.end() == 0
    assert "process[second-2] was required: shutting down launched system" in ros2.text
    assert "exit code 3" in ros2.text


def test_a_process_that_dies_leaves_the_others(start: Start) -> None:
    ros2 = start("second:=3")
    ros2.wait_for("exit code 3")
    ros2.wait_for("ready")
    ros2.send(signal.SIGINT)
    assert ros2.end() == 0


def test_launch_ends_with_its_last_process(start: Start) -> None:
    ros2 = start("first:=0", "second:=1")
    assert ros2.end() == 0
    assert "[first-1] out %s {}" in ros2.text
    assert "[first-1] err" in ros2.text
    assert "[first-1] unfinished" in ros2.text


def test_respawn_stops_after_its_retries(start: Start) -> None:
    ros2 = start("first:=0", "second:=1", "respawns:=2")
    assert ros2.end() == 0
    assert ros2.text.count("[second-2]: process started") == 3


def test_respawn_ends_with_the_launch(start: Start) -> None:
    ros2 = start("second:=0", "respawns:=1000000")
    ros2.wait_for("[second-2]: process started", times=2)
    ros2.wait_for("ready")
    ros2.send(signal.SIGINT)
    assert ros2.end() == 0


def test_output_to_the_log_only(start: Start, log_dir: Path) -> None:
    ros2 = start("first:=0", "second:=0", "output:=log")
    assert ros2.end() == 0
    assert "[second-2] out" not in ros2.text
    assert "[second-2] err" in ros2.text
    log = (log_dir / "latest" / "launch.log").read_text()
    assert "[second-2] out" in log
    assert "[INFO] [second-2]: process started" in log


def test_emulated_terminal(start: Start) -> None:
    ros2 = start("emulate_tty:=true")
    ros2.wait_for("ready tty=True\n")
    ros2.send(signal.SIGINT)
    assert ros2.end() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["on_exit:=maybe"], 'Argument "on_exit" provided value "maybe" is not valid. Valid options are:'),
        (["on_exit=x"], "malformed launch argument 'on_exit=x', expected format '<name>:=<value>'"),
        (["second:=SIGINT", "respawns:=x"], "invalid literal"),
        (["second:=SIGINT", "output:=paper"], "'paper' is not a valid output configuration"),
    ],
)
def test_errors_end_the_launch_with_1(start: Start, arguments: list[str], message: str) -> None:
    ros2 = start(*arguments)
    assert ros2.end() == 1
    assert message in ros2.text


def test_unknown_arguments_are_allowed(start: Start) -> None:
    assert start("first:=0", "unknown:=1").end() == 0


def test_run_passes_arguments_and_the_return_code(start: Start) -> None:
    ros2 = start("demo_pkg", "child", "4", verb="run")
    assert ros2.end() == 4
    assert "out %s {}" in ros2.text
    assert "[ros2run]: Process exited with failure 4" in ros2.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_passes_signals(start: Start, number: signal.Signals) -> None:
    ros2 = start("--prefix", "nice -n 1", "demo_pkg", "child", number.name, verb="run")
    ros2.wait_for("ready")
    ros2.send(number)
    assert ros2.end() == 0
    assert f"got {number.name}" in ros2.text


def test_run_ends_with_the_code_of_a_signal(start: Start) -> None:
    ros2 = start("demo_pkg", "child", "never", verb="run")
    ros2.wait_for("ready")
    ros2.send(signal.SIGQUIT)
    assert ros2.end() == 256 - signal.SIGQUIT
    assert "[ros2run]: Quit" in ros2.text


def test_run_names_what_is_missing(start: Start) -> None:
    ros2 = start("demo_pkg", "nothing", verb="run")
    assert ros2.end() == 1
    assert "No executable found" in ros2.text
