"""The view through Textual's own pilot, with a client in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from operator_parts import PRESET, Clock, MemoryClient
from textual.events import Paste

from rlt_ros.loop.requests import Answer, Request
from rlt_ros.operator.app import ConsoleApp
from rlt_ros.operator.keys import REQUESTS, load_keys
from rlt_ros.operator.screens import HelpScreen, KeyTestScreen
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Driver, Label, Mode, Phase

KEYS = load_keys(PRESET)
STATUS = OperatorStatus(
    stamp=10**10,
    phase=Phase.CRITICAL,
    mode=Mode.RL,
    driver=Driver.ACTOR,
    phase_id=34,
    episode=36,
    stage="practice",
    stage_episodes=33,
    practice_minutes=3.2,
    practice_minutes_wanted=7.0,
    labels=(Label.FAILURE, Label.SUCCESS),
    success_rate=0.5,
    rows=212,
    updates=40,
    update_debt=7,
    gate_reason="212 of 512 rows",
    weights_version=3,
    weights_age=1.5,
    robot_mode="MOVE",
)
Scene = Callable[["Stage"], Awaitable[None]]


class Stage:
    """A running view as a test sees it."""

    def __init__(self, app: ConsoleApp, client: MemoryClient, pilot) -> None:
        self.app, self.client, self._pilot = app, client, pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def shows(self, name: str, *texts: str) -> str:
        """Wait until a part of the view shows texts."""
        for _ in range(200):
            shown = str(self.app.screen_stack[0].query_one(f"#{name}").render())
            if all(text in shown for text in texts):
                return shown
            await self._pilot.pause(0.02)
        raise AssertionError(f"{name} shows {shown!r}, not {texts}")

    async def until(self, what: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        for _ in range(200):
            if what():
                return
            await self._pilot.pause(0.02)
        raise AssertionError("never came true")

    def card(self) -> str:
        return str(self.app.screen.query_one("#card").render())


def play(scene: Scene, status: OperatorStatus | None = STATUS, size: tuple[int, int] = (100, 30), **options) -> None:
    """Open the view and act."""

    async def run() -> None:
        client = MemoryClient(status)
        app = ConsoleApp(client, KEYS, **({"tests_keys": False} | options))
        async with app.run_test(size=size) as pilot:
            await scene(Stage(app, client, pilot))

    asyncio.run(run())


def test_the_status_is_shown() -> None:
    async def scene(stage: Stage) -> None:
        await stage.shows("phase", "CRITICAL 34")
        await stage.shows("mode", "RL")
        await stage.shows("drives", "ACTOR")
        await stage.shows("episode", "36")
        await stage.shows("session", "practice 3.2 of 7.0 min", "FS", "50 %")
        shown = ["212", "40 (+7 due)", "v3, 1.5 s old", "closed: 212 of 512 rows", "MOVE"]
        await stage.shows("learning", *shown)
        await stage.shows("warnings", "none")
        reason = "recovery: REFLEX, waiting for recover [force]"
        stage.client.change(hold_reason=reason, recovery=True, warnings=("no word from the learner for 7 s",))
        await stage.shows("warnings", f"the arm holds: {reason}", "! no word from the learner for 7 s")
        await stage.shows("learning", "MOVE, needs recovery", "yes, see below")

    play(scene)


def test_everything_fits_into_80_by_24() -> None:
    async def scene(stage: Stage) -> None:
        stage.client.age = 3.2
        stage.client.change(hold_reason="recovery: " + "why " * 30, warnings=("w " * 60, "v " * 60))
        await stage.shows("keys", "quit")
        await stage.shows("banner", "NO WORD")
        await stage.shows("warnings", "why why")
        await stage.press("b")
        await stage.shows("presses", "begin: done")
        for name in ("title", "tiles", "panels", "warnings", "presses", "keys"):
            region = stage.app.screen.query_one(f"#{name}").region
            assert region.height > 0 and region.bottom <= 24 and region.right <= 80, (name, region)
        keys = stage.app.screen.query_one("#keys").region
        assert stage.app.screen.query_one("#presses").region.bottom <= keys.y

    play(scene, size=(80, 24))


@pytest.mark.parametrize(("action", "request_"), REQUESTS.items())
def test_each_key_asks_for_its_request(action: str, request_: Request) -> None:
    async def scene(stage: Stage) -> None:
        await stage.press(KEYS.keys[action][0])
        await stage.shows("presses", "done")
        assert stage.client.pressed == [request_]

    play(scene)


def test_a_refusal_is_shown_with_its_reason() -> None:
    async def scene(stage: Stage) -> None:
        stage.client.answers[Request.MODE_RL] = Answer(False, "RL: the gate is closed: 212 of 512 rows")
        await stage.press("r")
        await stage.shows("presses", "RL refused: the gate is closed: 212 of 512 rows")

    play(scene)


def test_no_answer_is_said_and_the_view_goes_on_meanwhile() -> None:
    async def scene(stage: Stage) -> None:
        del stage.client.answers[Request.BEGIN]
        await stage.press("b", "v")
        await stage.shows("presses", "VLA: done")
        await stage.shows("presses", "begin: NO ANSWER within 0.3 s")

    play(scene, within=0.3)


def test_a_held_key_asks_once_and_says_so() -> None:
    async def scene(stage: Stage) -> None:
        await stage.press(*["s"] * 20)
        await stage.shows("presses", "success: done", "success: pressed again within 0.7 s, counted once")
        assert stage.client.pressed == [Request.SUCCESS]

    play(scene)


def test_stop_is_sent_again_while_its_key_is_held_whether_answered_or_not() -> None:
    clock = Clock()

    async def scene(stage: Stage) -> None:
        del stage.client.answers[Request.MODE_HOLD]
        await stage.press("space", "space", "space")
        assert stage.client.pressed == [Request.MODE_HOLD]
        clock.now += 0.11
        await stage.press("space")
        assert stage.client.pressed == [Request.MODE_HOLD] * 2
        await stage.shows("presses", "stop: NO ANSWER within 0.3 s")

    play(scene, within=0.3, clock=clock)


def test_the_key_test_sends_nothing_but_stop() -> None:
    async def scene(stage: Stage) -> None:
        assert isinstance(stage.app.screen, KeyTestScreen)
        await stage.press("b", "q", "z")
        assert stage.client.pressed == [] and stage.app.is_running
        assert stage.card().count("came") == 2 and "'z' is not in the keys file" in stage.card()
        await stage.press("space")
        assert stage.client.pressed == [Request.MODE_HOLD]
        await stage.press("enter", "b")
        assert stage.client.pressed == [Request.MODE_HOLD, Request.BEGIN]

    play(scene, tests_keys=True)


def test_input_devices_that_are_live_are_shown_in_the_key_test_and_above_the_view() -> None:
    async def scene(stage: Stage) -> None:
        assert "devices: no input device" in stage.card()
        stage.client.change(devices=("gamepad: live, deadman released", "pedal: live"))
        await stage.until(lambda: "pedal: live" in stage.card())
        assert "devices: gamepad: live, deadman released   pedal: live" in " ".join(stage.card().split("\n"))
        await stage.press("enter")
        stage.client.change(devices=("pedal: live",))
        await stage.until(lambda: stage.app.screen.query_one("#warnings").border_subtitle == "pedal: live")

    play(scene, tests_keys=True)


def test_help_shows_the_card_and_stop_works_from_there() -> None:
    async def scene(stage: Stage) -> None:
        await stage.press("question_mark")
        assert isinstance(stage.app.screen, HelpScreen)
        assert "the arm holds, now" in stage.card()
        await stage.press("space")
        assert stage.client.pressed == [Request.MODE_HOLD]
        assert not isinstance(stage.app.screen, HelpScreen)

    play(scene)


def test_a_silent_teleop_is_said_with_its_age_and_the_end_of_it() -> None:
    async def scene(stage: Stage) -> None:
        stage.client.age = 3.2
        await stage.shows("banner", "NO WORD FROM TELEOP for 3.2 s")
        assert stage.app.screen.query_one("#banner").display
        stage.client.age = 0.1
        await stage.shows("title", "up to date")
        assert not stage.app.screen.query_one("#banner").display

    play(scene)


def test_a_teleop_that_was_never_there_is_said_with_the_topic() -> None:
    async def scene(stage: Stage) -> None:
        await stage.shows("banner", "NO TELEOP: nothing on /rlt/operator_status for")
        await stage.shows("title", "no status yet")

    play(scene, status=None)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_quit_closes_the_view_and_asks_for_nothing(key: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.press(key)
        assert stage.app._exit
        assert stage.client.pressed == []

    play(scene)


def test_a_look_at_a_view_that_is_being_closed_does_nothing() -> None:
    async def scene(stage: Stage) -> None:
        await stage.app.screen.query_one("#banner").remove()
        stage.app.look()
        stage.client.change(episode=99)
        stage.app.look()

    play(scene)


def test_text_that_is_pasted_presses_nothing() -> None:
    """Field report B39."""

    async def scene(stage: Stage) -> None:
        stage.app.post_message(Paste("bsf"))
        await stage.press("v")
        assert stage.client.pressed == [Request.MODE_VLA]

    play(scene)
