"""A learner that is killed while it saves leaves a directory that the next one goes on with (field report B32)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import save_for_ever

from rlt_ros.rl.checkpoint import REPLAY, latest, numbers, resume, save_checkpoint


def test_killed_in_the_middle_of_a_save_the_last_whole_checkpoint_is_used(tmp_path):
    number = 5  # with keep=2 the first ones are deleted by then
    process = subprocess.Popen([sys.executable, save_for_ever.__file__, str(tmp_path)])
    try:
        while not began(tmp_path, number):
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()

    found = latest(tmp_path)
    # It may have been renamed in the instant before the kill, but there is never less than the one before.
    assert int(found.name) in (number - 1, number)
    after = save_for_ever.learner()
    resume(after, [], found)
    assert after.rows == save_for_ever.CONFIG.replay_capacity
    saved = save_checkpoint(tmp_path, after, keep=2)
    assert latest(tmp_path) == saved
    assert {p.name for p in tmp_path.iterdir()} == {f"{n:06d}" for n in numbers(tmp_path)}


def began(directory: Path, number: int) -> bool:
    """Some of the replay of this checkpoint has been written, or all of it."""
    partial = directory / f".{number:06d}.partial" / REPLAY
    try:
        return partial.stat().st_size > 0
    except FileNotFoundError:
        return number in numbers(directory)
