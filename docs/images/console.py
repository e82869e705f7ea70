"""Draws docs/images/console.svg from made-up figures: python docs/images/console.py OUT.svg [WIDTHxHEIGHT]."""

import asyncio
import sys
from concurrent.futures import Future
from pathlib import Path

from rlt_ros.loop.requests import Answer, Request
from rlt_ros.operator.app import ConsoleApp
from rlt_ros.operator.client import Received
from rlt_ros.operator.keys import load_keys
from rlt_ros.operator.status import OperatorStatus
from rlt_ros.types import Driver, Label, Mode, Phase

KEYS = Path(__file__).parents[2] / "config" / "operator" / "keys.yaml"
LETTERS = {"S": Label.SUCCESS, "F": Label.FAILURE, "A": Label.ABORT}
STATUS = OperatorStatus(
    stamp=100_000_000_000,
    phase=Phase.CRITICAL,
    mode=Mode.VLA,
    driver=Driver.VLA,
    phase_id=21,
    phase_steps=51,
    episode=23,
    stage="practice",
    stage_episodes=20,
    practice_minutes=2.2,
    practice_minutes_wanted=7.0,
    robot_minutes=2.4,
    labels=tuple(LETTERS[letter] for letter in "FFSFFSAFSSFSFSSFFFSS"),
    success_rate=9 / 19,
    intervention_rate=0.12,
    seconds_since_label=14.3,
    learner_silence=0.4,
    rows=212,
    updates=0,
    gate_reason="212 of 512 rows",
    actor_silence=0.3,
    weights_version=1,
    weights_age=42.0,
    robot_mode="MOVE",
    devices=("gamepad: live, deadman released", "pedal: live"),
    answers=70,
    request="mode_rl",
    answer="RL: the gate is closed: 212 of 512 rows",
    answer_stamp=97_400_000_000,
)
ANSWERS = {
    Request.SUCCESS: Answer(True, "critical phase 20: SUCCESS"),
    Request.BEGIN: Answer(True, "critical phase 21 begins, VLA drives (the gate is closed: 212 of 512 rows)"),
    Request.MODE_RL: Answer(False, "RL: the gate is closed: 212 of 512 rows"),
}


class Client:
    """Answers from a table."""

    where = "/rlt/operator_status"

    def newest(self) -> Received:
        return Received(STATUS, 0.1)

    def press(self, request: Request) -> Future:
        future = Future()
        future.set_result(ANSWERS[request])
        return future


async def main(out: Path, size: tuple[int, int]) -> None:
    app = ConsoleApp(Client(), load_keys(KEYS), tests_keys=False)
    async with app.run_test(size=size) as pilot:
        for key in "sbr":
            await pilot.press(key)
            await pilot.pause(0.2)
        out.write_text(app.export_screenshot(title="ros2 run rlt_ros console"))


if __name__ == "__main__":
    width, height = (sys.argv[2] if len(sys.argv) > 2 else "92x25").split("x")
    asyncio.run(main(Path(sys.argv[1]), (int(width), int(height))))
