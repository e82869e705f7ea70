"""Rows in, the same rows out: no neighbour's next state, no torn row, no feature lost or kept for ever."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from fresh import in_fresh_process, resident_bytes
from synthetic import DIMS, features, rows, small_config

from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.replay import NotEnoughRows, Replay, monte_carlo_return
from rlt_ros.rl.rows import RowError
from rlt_ros.types import Driver, Label

GENERATOR = torch.Generator()


def filled(capacity=512, count=64, batch=8, **changes) -> tuple[Replay, list]:
    replay = Replay(small_config(replay_capacity=capacity, batch=batch, **changes), DIMS)
    made = rows(count)
    for row in made:
        assert replay.add(row)
    return replay, made


def features_by_id(made):
    return {(row.stream, f.id): f for row in made for f in row.features}


def assert_rows_are_whole(batch, made):
    """Every field of every sampled row is the one that was added under its number."""
    known = features_by_id(made)
    for i, number in enumerate(batch.row.tolist()):
        row = made[number]
        start = known[row.stream, row.features_id]
        following = start if row.terminated else known[row.stream, row.next_features_id]
        np.testing.assert_array_equal(batch.state[i], np.concatenate([start.z, start.proprio]))
        np.testing.assert_array_equal(batch.next_state[i], np.concatenate([following.z, following.proprio]))
        np.testing.assert_array_equal(batch.reference[i], start.reference[:4])
        np.testing.assert_array_equal(batch.next_reference[i], following.reference[:4])
        np.testing.assert_array_equal(batch.action[i], row.actions)
        np.testing.assert_array_equal(batch.rewards[i], row.rewards)
        human = (row.drivers == Driver.HUMAN) & (np.arange(4) < row.valid_horizon)
        np.testing.assert_array_equal(batch.human[i], human)
        np.testing.assert_array_equal(batch.valid[i], np.arange(4) < row.valid_horizon)
        assert (batch.horizon[i], batch.terminated[i]) == (row.valid_horizon, row.terminated)


@pytest.mark.parametrize("count", [20, 64, 90])
def test_every_sampled_row_is_whole_before_and_after_the_ring_wraps(count):
    """Field report A21, also A05: the terminal reward lies on the row that is terminated, after a wrap too."""
    replay, made = filled(capacity=32, count=count)
    for _ in range(20):
        batch = replay.sample(8, GENERATOR)
        assert_rows_are_whole(batch, made)
        assert batch.row.min() >= count - len(replay)
        rewarded = batch.rewards.sum(dim=1) > 0
        assert (batch.terminated[rewarded] == 1).all()


def test_eviction_frees_the_features_that_no_row_names_and_no_others():
    replay, made = filled(capacity=16, count=77)
    named = {i for row in made[-16:] for i in (row.features_id, row.next_features_id) if i}
    assert (len(replay), replay.evicted, replay.observations) == (16, 61, len(named))


def test_shared_features_are_stored_once():
    replay, made = filled(count=64)
    assert replay.observations == len(features_by_id(made)) == 64


def test_the_same_row_twice_is_refused_and_changes_nothing():
    replay, made = filled(count=20)
    assert not replay.add(made[3])
    assert replay.add(replace(made[0], stream="other"))  # another robot's row 1
    assert len(replay) == 21


def test_observation_ids_of_two_streams_do_not_mix():
    replay = Replay(small_config(), DIMS)
    made = rows(16, seed=1, stream="a"), rows(16, seed=2, stream="b")
    for a, b in zip(*made):
        replay.add(a), replay.add(b)
    assert_rows_are_whole(replay.sample(8, GENERATOR), [row for pair in zip(*made) for row in pair])


def test_a_row_that_names_unknown_features_is_refused_whole():
    replay, _ = filled(count=8)
    orphan = replace(rows(16)[9], features=())
    with pytest.raises(RowError, match="next_features_id is 11; no row has carried"):
        replay.add(replace(orphan, features_id=8))
    assert (len(replay), replay.observations) == (8, 8)


def test_a_truncated_row_keeps_its_next_observation_and_is_not_terminated():
    """Field report A32: a fault or an abort ends the window, not the value."""
    replay = Replay(small_config(batch=2), DIMS)
    made = rows(7)
    executed = made[6].actions * (np.arange(4) < 2)[:, None]
    made[6] = replace(made[6], truncated=True, label=Label.ABORT, valid_horizon=2, actions=executed)
    for row in made:
        replay.add(row)
    for _ in range(20):
        batch = replay.sample(3, GENERATOR)
        assert_rows_are_whole(batch, made)
        assert batch.terminated.sum() == 0
        assert torch.equal(batch.mc_return.isnan(), batch.row == 6)


def test_no_batch_from_fewer_rows_than_two():
    replay, _ = filled(count=15)
    with pytest.raises(NotEnoughRows, match="15 rows.*batch of 8 needs 16"):
        replay.sample(8, GENERATOR)
    replay.add(rows(16)[15])
    assert replay.sample(8, GENERATOR).row.shape == (8,)


def test_sampling_depends_on_the_generator_alone():
    replay, _ = filled()
    first, again = (replay.sample(8, torch.Generator().manual_seed(5)).row for _ in range(2))
    assert torch.equal(first, again)


def test_monte_carlo_return():
    row = rows(1)[0]
    assert monte_carlo_return(replace(row, label=Label.SUCCESS, steps_to_end=1), 0.9) == 1.0
    assert monte_carlo_return(replace(row, label=Label.SUCCESS, steps_to_end=4), 0.9) == pytest.approx(0.9**3)
    assert monte_carlo_return(replace(row, label=Label.FAILURE), 0.9) == 0.0
    assert np.isnan(monte_carlo_return(replace(row, label=Label.ABORT), 0.9))


def test_human_rate_counts_executed_steps_only():
    replay, made = filled(count=16)
    human = sum(int((row.drivers[: row.valid_horizon] == Driver.HUMAN).sum()) for row in made)
    assert replay.human_rate() == pytest.approx(human / sum(row.valid_horizon for row in made))


def test_no_torn_rows_while_another_thread_adds():
    """Field report A20: every number of row i is i, in the ring's every lap."""
    replay = Replay(small_config(replay_capacity=64, batch=16), DIMS)
    template, rng, stop = rows(1)[0], np.random.default_rng(0), threading.Event()

    def numbered(number: int):
        def filled_with(value, shape):
            return np.full(shape, value, np.float32)

        seen = replace(
            features(number, rng), z=filled_with(number, 4), proprio=filled_with(number, 3),
            reference=filled_with(number, (4, 3)),
        )  # fmt: skip
        return replace(
            template, id=number, features_id=number, next_features_id=0, terminated=True, features=(seen,),
            actions=filled_with(number, (4, 3)), rewards=filled_with(number, 4),
        )  # fmt: skip

    def add_until_stopped() -> None:
        number = 100
        while not stop.wait(1e-4):  # without a pause it would hold the lock nearly always
            replay.add(numbered(number))
            number += 1

    for number in range(1, 65):
        replay.add(numbered(number))
    thread = threading.Thread(target=add_until_stopped)
    thread.start()
    try:
        for _ in range(2000):
            b = replay.sample(16, GENERATOR)
            fields = (b.state, b.next_state, b.reference, b.action, b.rewards)
            columns = torch.cat([t.flatten(1) for t in fields], dim=1)
            assert (columns == columns[:, :1]).all()
    finally:
        stop.set()
        thread.join()
    assert replay.added > 64


def test_half_precision_of_z_and_no_other_field():
    replay, made = filled(half_precision_z=True)
    batch = replay.sample(8, GENERATOR)
    known = features_by_id(made)
    wanted = np.stack([known["s", made[n].features_id].z for n in batch.row.tolist()])
    np.testing.assert_array_equal(batch.state[:, :4], wanted.astype(np.float16).astype(np.float32))
    assert batch.state.dtype == torch.float32
    np.testing.assert_array_equal(batch.state[0, 4:], known["s", made[batch.row[0]].features_id].proprio)


def test_memory_follows_the_rows_and_not_the_capacity():
    """100,000 rows at z 2048 take 1 GB at most, and nothing before they come."""
    assert in_fresh_process(__file__, "bytes_of_an_empty_replay") < 20e6
    config, dims = AgentConfig(), Dims(z=2048)
    replay = Replay(config, dims)
    per_observation = 2 * dims.z + 4 * (dims.proprio + config.chunk * dims.action)
    per_row = sum(column[0].nbytes for column in replay._columns.values())
    # Stride 2 brings about one new observation per row, and C / 2 more per phase of 30 steps or longer.
    assert 100_000 * (1.34 * per_observation + per_row) < 1e9


def bytes_of_an_empty_replay() -> int:
    before = resident_bytes()
    replay = Replay(AgentConfig(), Dims(z=2048))
    return resident_bytes() - before + len(replay)
