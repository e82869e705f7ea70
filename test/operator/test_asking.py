"""A press through its whole way: what is sent, and what the person is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from operator_parts import Clock, MemoryClient

from rlt_ros.loop.requests import Answer, Request
from rlt_ros.operator.presses import Presses

Scene = Callable[[Presses, MemoryClient, list, Clock], Awaitable[None]]


def play(scene: Scene, within: float = 0.2) -> None:
    async def run() -> None:
        client, said, clock = MemoryClient(), [], Clock()
        presses = Presses(client, lambda *told: said.append(told), within, clock)
        await scene(presses, client, said, clock)
        presses.close()

    asyncio.run(run())


async def until(what: Callable[[], object]) -> None:
    for _ in range(500):
        if what():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come")


def test_an_answer_and_a_refusal_are_told_in_the_words_of_the_keys() -> None:
    async def scene(presses: Presses, client: MemoryClient, said: list, clock: Clock) -> None:
        client.answers[Request.MODE_RL] = Answer(False, "RL: the gate is closed: 212 of 512 rows")
        presses.press("begin")
        presses.press("rl")
        await until(lambda: len(said) == 2)
        assert ("begin", "begin: done", "good") in said
        assert ("rl", "RL refused: the gate is closed: 212 of 512 rows", "bad") in said
        assert client.pressed == [Request.BEGIN, Request.MODE_RL]

    play(scene)


def test_a_second_tap_counts_once_and_that_is_told() -> None:
    async def scene(presses: Presses, client: MemoryClient, said: list, clock: Clock) -> None:
        presses.press("success")
        clock.now += 0.5
        presses.press("success")
        clock.now += 0.8
        presses.press("success")
        assert client.pressed == [Request.SUCCESS] * 2
        assert [text for _, text, mood in said if mood == "dim"] == [
            "success: pressed again within 0.7 s, counted once"
        ]

    play(scene)


@pytest.mark.parametrize("answered", [True, False])
def test_stop_goes_out_ten_times_a_second_answered_or_not(answered: bool) -> None:
    async def scene(presses: Presses, client: MemoryClient, said: list, clock: Clock) -> None:
        if not answered:
            del client.answers[Request.MODE_HOLD]
        for _ in range(100):
            presses.press("stop")
            clock.now += 0.01
        assert 9 <= len(client.pressed) <= 11

    play(scene)


def test_no_answer_is_told_and_a_late_one_does_no_harm() -> None:
    async def scene(presses: Presses, client: MemoryClient, said: list, clock: Clock) -> None:
        del client.answers[Request.BEGIN]
        presses.press("begin")
        await until(lambda: said)
        assert said == [("begin", "begin: NO ANSWER within 0.05 s", "bad")]

    play(scene, within=0.05)
