"""The optimiser's loop: order, schedule, stopping, going on bit for bit (field report A18)."""

from dataclasses import replace

import pytest
import torch
from small_objective import FIT, Line, weights

from rlt_ros.token.config import FitConfig, RunConfig
from rlt_ros.token.fit import fit, validate
from rlt_ros.token.run import Run
from rlt_ros.token.snapshots import Snapshots
from rlt_ros.token.training import Training, rate_factor

ROWS = torch.arange(50)


class Stopped(Exception):
    pass


def stopping_at(objective, step):
    """The objective fails at a step, as a power cut would end the process."""
    forward, calls = objective.forward, []

    def limited(rows, draw):
        calls.append(rows)
        if len(calls) > step:
            raise Stopped
        return forward(rows, draw)

    objective.forward = limited
    return objective


def a_run(folder, lines=None, **changes):
    config = RunConfig(**({"save_every": 10, "tensorboard": False} | changes))
    return Run(folder, config, {"seed": 3}, show=(lines if lines is not None else []).append)


def test_the_rate_warms_up_and_ends_at_zero():
    config = FitConfig(steps=100, batch=1, warmup=0.1)
    factors = [rate_factor(step, config) for step in range(100)]
    assert factors[0] == pytest.approx(0.1) and max(factors) == 1.0 and factors[-1] < 0.01
    assert factors[:10] == sorted(factors[:10]) and factors[10:] == sorted(factors[10:], reverse=True)


def test_it_learns_and_says_the_mean_of_the_last_losses():
    objective = Line(noise=0.0, dropout=0.0, fit=replace(FIT, steps=400, rate=5e-2))
    metrics = fit(objective, objective.fit, ROWS, seed=3)
    assert metrics["loss"] < 0.05 and metrics["twice"] == pytest.approx(2 * metrics["loss"])


def test_stopped_and_gone_on_equals_in_one_go(tmp_path):
    """Weights, moments, order of frames, noise, dropout and running means, as if nothing had happened."""
    whole, whole_metrics = Line(), None
    whole_metrics = fit(whole, FIT, ROWS, 3)
    with pytest.raises(Stopped):
        fit(stopping_at(Line(), 27), FIT, ROWS, 3, a_run(tmp_path))
    lines, second = [], Line()
    metrics = fit(second, FIT, ROWS, 3, a_run(tmp_path, lines))
    assert "stage1: line goes on at step 20" in lines
    for name, tensor in weights(whole).items():
        assert torch.equal(weights(second)[name], tensor), name
    assert metrics == whole_metrics
    torch.testing.assert_close(torch.stack(second.seen), torch.stack(whole.seen[20:]))


def test_going_on_with_a_finished_training_changes_nothing(tmp_path):
    first, second = Line(), Line()
    metrics = fit(first, FIT, ROWS, 3, a_run(tmp_path))
    assert fit(second, FIT, ROWS, 3, a_run(tmp_path)) == metrics
    assert second.seen == []
    assert all(torch.equal(weights(second)[name], tensor) for name, tensor in weights(first).items())


def test_snapshots_are_numbered_and_the_newest_stay(tmp_path):
    fit(Line(), FIT, ROWS, 3, a_run(tmp_path))
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == ["line-000030", "line-000040"]


def test_frozen_weights_are_not_in_a_snapshot(tmp_path):
    fit(Line(), FIT, ROWS, 3, a_run(tmp_path))
    tensors, _ = Snapshots(tmp_path / "snapshots", {"seed": 3}, 2).newest("line")
    assert {name for name in tensors if name.startswith("weights.")} == {"weights.line.1.weight", "weights.line.1.bias"}


def test_a_following_curve_needs_the_same_number_of_processes(tmp_path):
    training = Training(Line(), FIT, ROWS, 3)
    with pytest.raises(ValueError, match="processes: 2 there, 1 here"):
        training.load(training.tensors(), training.values() | {"processes": 2})


@pytest.mark.parametrize("step", [0, 13])
def test_a_loss_that_is_not_finite_stops_before_a_weight_changes(tmp_path, step):
    objective = Line()
    forward, before = objective.forward, []

    def spoilt(rows, draw):
        losses = forward(rows, draw)
        before.append(weights(objective))
        return losses if len(before) <= step else {"loss": losses["loss"] * torch.nan}

    objective.forward = spoilt
    with pytest.raises(ArithmeticError, match=f"line: loss is nan at step {step}"):
        fit(objective, FIT, ROWS, 3, a_run(tmp_path))
    assert all(torch.equal(weights(objective)[name], tensor) for name, tensor in before[-1].items())
    assert len(list((tmp_path).rglob("line-*"))) == step // 10


def test_a_gradient_that_is_not_finite_stops_before_a_weight_changes():
    objective = Line(dropout=0.0)
    before = weights(objective)
    # The loss is finite where the root of zero is, its gradient is not.
    objective.forward = lambda rows, draw: {"loss": (objective.line[1].weight * 0.0).sum().sqrt()}
    with pytest.raises(ArithmeticError, match="line: norm of the gradient is nan at step 0"):
        fit(objective, FIT, ROWS, 3)
    assert all(torch.equal(weights(objective)[name], tensor) for name, tensor in before.items())


def test_every_frame_is_drawn_equally_often_and_no_other():
    objective = Line(fit=FitConfig(steps=14, batch=3))
    fit(objective, objective.fit, torch.arange(7) * 2, 0)
    assert torch.bincount(torch.cat(objective.seen), minlength=14).tolist() == [6, 0] * 7


def test_a_batch_in_parts_has_the_gradient_of_the_whole():
    whole, parts = (Line(noise=0.0, dropout=0.0) for _ in range(2))
    fit(whole, FIT, ROWS, 3)
    fit(parts, replace(FIT, accumulate=4), ROWS, 3)
    assert len(parts.seen) == 4 * len(whole.seen) and len(parts.seen[0]) == 2
    for name, tensor in weights(whole).items():
        torch.testing.assert_close(weights(parts)[name], tensor)


def test_validation_has_no_effect_on_what_is_learned_and_is_reported(tmp_path):
    without, looked_at, lines = Line(), Line(), []
    fit(without, FIT, ROWS[:40], 3)
    metrics = fit(looked_at, FIT, ROWS[:40], 3, a_run(tmp_path, lines, validate_every=10), ROWS[40:])
    assert all(torch.equal(weights(looked_at)[name], tensor) for name, tensor in weights(without).items())
    assert metrics["val_loss"] == pytest.approx(validate(looked_at, ROWS[40:], 8)["loss"])
    looks = [line for line in lines if "validation loss" in line]
    assert len(looks) == 4 and all(" twice " in line for line in looks)


def test_a_loss_that_does_not_fall_is_told_early_and_once(tmp_path):
    lines, stuck = [], Line(noise=0.0, dropout=0.0, fit=replace(FIT, steps=400, rate=0.0))
    fit(stuck, stuck.fit, ROWS, 3, a_run(tmp_path, lines))
    warned = [i for i, line in enumerate(lines) if "the loss does not fall" in line]
    assert len(warned) == 1
    lines, falling = [], Line(fit=replace(FIT, steps=400))
    fit(falling, falling.fit, ROWS, 3, a_run(None, lines))
    assert not any("does not fall" in line for line in lines)


def test_curves_have_the_fields_names(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = a_run(tmp_path, tensorboard=True)
    fit(Line(), FIT, ROWS[:40], 3, run, ROWS[40:])
    run.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    drawn = set(events.Tags()["scalars"])
    assert {"train/loss", "train/twice", "val/loss", "line/learning_rate", "line/grad_norm"} <= drawn
    assert [point.step for point in events.Scalars("train/loss")] == [10, 20, 30, 40]


def test_a_batch_that_cannot_be_shared_is_refused_with_both_numbers():
    class Three:
        rank, count, device = 0, 3, torch.device("cpu")

    with pytest.raises(ValueError, match="line: batch 8 is no multiple of 3 processes"):
        Training(Line(), FIT, ROWS, 0, Three())


@pytest.mark.parametrize("accumulate", [3, 4])
def test_parts_of_another_size_count_by_their_frames(accumulate):
    """10 frames in 4 parts are 3, 3, 3 and 1: that one must not weigh as much as three."""
    config = replace(FIT, steps=5, batch=10)
    whole, parts = (Line(noise=0.0, dropout=0.0, fit=config) for _ in range(2))
    one = fit(whole, config, ROWS, 3)
    other = fit(parts, replace(config, accumulate=accumulate), ROWS, 3)
    assert one == pytest.approx(other, rel=1e-5)
    for name, tensor in weights(whole).items():
        torch.testing.assert_close(weights(parts)[name], tensor, rtol=1e-4, atol=1e-6)


def test_validation_counts_frames_and_not_batches():
    line = Line(noise=0.0, dropout=0.0)
    rows = ROWS[:9]
    assert validate(line, rows, 4)["loss"] == pytest.approx(validate(line, rows, 9)["loss"], rel=1e-5)


@pytest.mark.parametrize("values", [{"steps": -1}, {"accumulate": 0}, {"batch": 2, "accumulate": 3}])
def test_impossible_trainings_are_refused(values):
    with pytest.raises(ValueError, match="steps"):
        FitConfig(**({"steps": 1, "batch": 1} | values))
