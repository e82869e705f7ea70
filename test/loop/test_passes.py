"""Which observation the VLA sees next."""

import numpy as np

from rlt_ros.loop.passes import PassQueue
from rlt_ros.types import Observation


def observation(number: int, step: int) -> Observation:
    return Observation(number, number * 50, 1, step, {}, np.zeros(19, np.float32))


def filled(queue: PassQueue, count: int) -> PassQueue:
    for i in range(count):
        queue.add(observation(100 + i, i))
    return queue


def ids(batch: list[Observation]) -> list[int]:
    return [o.id for o in batch]


def test_stride_steps_are_wanted_and_others_only_on_request() -> None:
    queue = filled(PassQueue(stride=2), 4)
    assert len(queue) == 2
    assert queue.request([101, 7]) == [7]
    assert len(queue) == 3


def test_the_newest_comes_first_and_alone_then_the_older_share_a_batch() -> None:
    queue = filled(PassQueue(stride=2, batch=3), 11)
    assert ids(queue.take()) == [110]
    assert ids(queue.take()) == [100, 102, 104]
    assert ids(queue.take()) == [106, 108]
    assert queue.take() == []


def test_lockstep_keeps_the_order_of_coming_one_by_one() -> None:
    queue = filled(PassQueue(stride=2, ordered=True), 5)
    assert [ids(queue.take()) for _ in range(3)] == [[100], [102], [104]]


def test_a_repeated_observation_is_known_and_the_oldest_are_forgotten() -> None:
    queue = PassQueue(stride=1, capacity=3)
    assert queue.add(observation(100, 0)) and not queue.add(observation(100, 0))
    filled(queue, 5)
    assert len(queue) == 3
    assert queue.request([101]) == [101]


def test_a_request_that_overtakes_its_observation_is_answered_when_that_comes() -> None:
    queue = filled(PassQueue(stride=2), 1)
    queue.take()
    assert queue.request([101]) == []
    queue.add(observation(101, 1))
    assert ids(queue.take()) == [101]


def test_what_a_decision_waits_for_comes_first_however_old() -> None:
    queue = filled(PassQueue(stride=2), 11)
    queue.request([103, 105], urgent=True)
    assert [ids(queue.take()) for _ in range(3)] == [[105], [103], [110]]


def test_the_passes_are_kept_free_for_an_announced_observation_that_would_come_meanwhile() -> None:
    queue = filled(PassQueue(stride=1), 1)
    assert ids(queue.take()) == [100]
    for i in range(1, 4):
        queue.add(observation(100 + i, i))
    queue.request([107], urgent=True)
    assert ids(queue.take()) == [103], "a pass lasts three observations: there is time"
    for i in range(4, 7):
        queue.add(observation(100 + i, i))
    assert queue.take() == [] and len(queue) == 5
    assert ids(queue.take(wait=False)) == [106], "it was waited for long enough"
    queue.add(observation(107, 7))
    assert ids(queue.take()) == [107]


def test_a_batch_is_not_begun_where_a_single_pass_would_be() -> None:
    queue = filled(PassQueue(stride=2, batch=4), 9)
    assert ids(queue.take()) == [108]
    queue.add(observation(109, 9))
    queue.request([112], urgent=True)
    assert queue.take() == [], "four observations may take four times as long"
    queue.request([120], urgent=True)
    assert ids(queue.take()) == [100, 102, 104, 106]
