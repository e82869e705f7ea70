"""The early word about a loss that does not fall."""

import numpy as np
import pytest

from rlt_ros.token.watch import Watch


def told(losses):
    watch = Watch("vla", len(losses))
    return [(step, text) for step, loss in enumerate(losses) if (text := watch.see(float(loss)))]


def test_a_flat_loss_is_told_once_after_three_of_twenty_stretches():
    noise = np.random.default_rng(0).normal(0, 0.01, 1000)
    ((step, text),) = told(1.0 + noise)
    assert step == 149
    assert text.startswith("vla: the loss does not fall: mean 1") and "over the last 50;" in text


def test_a_rising_loss_is_told():
    assert len(told(np.linspace(1, 2, 400))) == 1


@pytest.mark.parametrize("last", [0.3, 0.7])
def test_a_falling_loss_is_not(last):
    noise = np.random.default_rng(0).normal(0, 0.01, 1000)
    assert told(np.geomspace(1.0, last, 1000) + noise) == []


def test_few_steps_say_nothing():
    assert told(np.ones(25)) == []


def test_one_that_goes_on_says_what_one_in_one_go_says():
    losses = 1.0 + np.random.default_rng(0).normal(0, 0.01, 1000)
    first, second = Watch("vla", 1000), Watch("vla", 1000)
    for loss in losses[:120]:
        assert first.see(float(loss)) == ""
    second.load(first.state())
    assert [120 + i for i, loss in enumerate(losses[120:]) if second.see(float(loss))] == [149]
