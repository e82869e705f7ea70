"""Demonstrations on disk and as training targets (field reports A08, A09, B30, B32)."""

from dataclasses import replace

import numpy as np
import pytest

from rlt_ros.data.demos import Demonstration, DemonstrationError, Frames, chunk_targets, load_all


def episode(number=0, steps=6, size=8):
    rng = np.random.default_rng(number)
    return Demonstration(
        id=number,
        images={name: rng.integers(0, 256, (steps, size, size, 3), dtype=np.uint8) for name in ("front", "wrist")},
        proprio=rng.normal(size=(steps, 19)).astype(np.float32),
        actions=rng.uniform(-1, 1, (steps, 7)).astype(np.float32),
        offset=rng.normal(0, 0.01, (steps, 2)).astype(np.float32),
        success=bool(number % 2),
    )


def test_round_trip(tmp_path):
    for number in (1, 0):
        episode(number).save(tmp_path)
    loaded = load_all(tmp_path)
    assert [d.id for d in loaded] == [0, 1]
    for got in loaded:
        want = episode(got.id)
        assert got.success == want.success
        np.testing.assert_array_equal(got.actions, want.actions)
        np.testing.assert_array_equal(got.images["wrist"], want.images["wrist"])


def test_a_full_disk_leaves_nothing_and_no_old_episode_is_lost(tmp_path, monkeypatch):
    episode(0).save(tmp_path)

    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        episode(0).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["episode_000000.npz"]
    assert load_all(tmp_path)[0].id == 0


def test_a_damaged_file_is_named(tmp_path):
    path = episode(0).save(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DemonstrationError, match=r"episode_000000\.npz"):
        load_all(tmp_path)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(DemonstrationError, match="no episode"):
        load_all(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"proprio": np.zeros((6, 18), np.float32)}, r"proprio: float32 \(6, 18\); expected float32 \(6, 19\)"),
        ({"proprio": np.zeros((5, 19), np.float32)}, "proprio"),
        ({"actions": np.full((6, 7), 1.5, np.float32)}, r"actions.*\[-1, 1\]"),
        ({"actions": np.full((6, 7), np.nan, np.float32)}, "actions: not finite in step 0"),
        ({"images": {"front": np.zeros((6, 8, 8, 3), np.float32)}}, r"images\[front\]: float32"),
        ({"images": {"front": np.zeros((4, 8, 8, 3), np.uint8)}}, r"images\[front\]: uint8 \(4, 8, 8, 3\)"),
    ],
)
def test_an_unusable_episode_is_refused(changes, message):
    with pytest.raises(DemonstrationError, match=message):
        replace(episode(), **changes)


def test_targets_are_the_executed_actions_from_this_step_on():
    actions = episode(steps=6).actions
    targets, valid = chunk_targets(actions, 4)
    np.testing.assert_array_equal(targets[1], actions[1:5])
    assert valid[1].all()


def test_beyond_the_end_is_a_masked_hold_that_keeps_the_gripper():
    actions = episode(steps=6).actions
    targets, valid = chunk_targets(actions, 4)
    np.testing.assert_array_equal(valid[4], [True, True, False, False])
    np.testing.assert_array_equal(targets[4, 2:, :6], 0.0)
    np.testing.assert_array_equal(targets[4, 2:, 6], actions[-1, 6])


def test_no_chunk_crosses_an_episode():
    a, b = episode(0, steps=6), episode(1, steps=9)
    frames = Frames.of([a, b], horizon=4)
    assert len(frames) == 15
    np.testing.assert_array_equal(frames.targets[5, 0], a.actions[5])
    np.testing.assert_array_equal(frames.valid[5], [True, False, False, False])
    np.testing.assert_array_equal(frames.targets[6], b.actions[:4])


def test_other_cameras_in_one_set_are_refused():
    odd = episode(1, size=16)
    with pytest.raises(DemonstrationError, match="demonstration 0.*in 1"):
        Frames.of([episode(0), odd], horizon=4)
