"""The stages in their order: machine, packages, then interfaces and the first training side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import activation
import checkout
import interfaces
import packages
import system
from layout import Layout
from process import run
from progress import Display, Stage
from stamps import Stamps

STAGE1 = ("-m", "rlt_ros.token.stage1_cli", "--preset", "demo")
BUDGETS = {"packages": 60.0, "interfaces": 85.0, "bytecode": 30.0, "browser": 40.0, "stage1": 240.0}
"""Seconds on two cores, for the estimate where a stage does not report how far it is."""
_SHOWN = 70


class Setup:
    """Runs the stages that are due and shows them."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._stamps = Stamps(layout.state)
        self._stages = {name: Stage(name, budget) for name, budget in BUDGETS.items()}
        self._display = Display(list(self._stages.values()))
        self._cancelled = Event()
        self._priority: list[str] = []

    def run(self, with_stage1: bool, with_browser: bool) -> None:
        """Bring the environment up to date; with_stage1 trains the demo's Stage 1 beside the compiler, with_browser
        installs one for the tests, where this is root on Debian.

        Raises CommandError, MachineError or MendError; a failure of one of two stages side by side ends the other.
        """
        self._check_machine()
        with self._display.showing():
            if not self._stamps.done(packages.STAGE, packages.key(self._layout)):
                self._timed("packages", self._install)
            checkout.join(self._layout)
            self._side_by_side(with_stage1, with_browser)

    def _check_machine(self) -> None:
        system.check_platform()
        missing = system.missing_packages()
        if missing:
            self._display.say(f"installing {' '.join(missing)}")
            system.install_packages(missing, self._layout.log("system"))

    def _side_by_side(self, with_stage1: bool, with_browser: bool) -> None:
        due: dict[str, Callable[[Stage], None]] = {}
        if not self._stamps.done(interfaces.STAGE, interfaces.key(self._layout)):
            due["interfaces"] = self._compile
        if not self._stamps.done(packages.BYTECODE, packages.key(self._layout)):
            due["bytecode"] = self._compile_bytecode
        if with_browser and system.browser_is_due():
            due["browser"] = self._install_browser
        if with_stage1:
            due["stage1"] = self._train
            # The training, which takes longest, keeps a core to itself.
            self._priority = ["nice", "-n", "5"]
        with ThreadPoolExecutor() as pool:
            try:
                for future in [pool.submit(self._timed, name, work) for name, work in due.items()]:
                    future.result()
            except BaseException:
                self._cancelled.set()
                raise

    def _timed(self, name: str, work: Callable[[Stage], None]) -> None:
        stage = self._stages[name]
        stage.begin()
        try:
            work(stage)
        except BaseException:
            self._cancelled.set()
            raise
        finally:
            stage.end()
        self._display.say(stage.line())

    def _install(self, stage: Stage) -> None:
        def show(line: str) -> None:
            stage.text = line[:_SHOWN]

        packages.install(self._layout, self._stamps, show)

    def _compile(self, stage: Stage) -> None:
        def show(fraction: float) -> None:
            stage.fraction = fraction

        interfaces.compile_all(self._layout, self._stamps, self._priority, show, self._cancelled)

    def _compile_bytecode(self, stage: Stage) -> None:
        packages.compile_bytecode(self._layout, self._stamps, self._priority, self._cancelled)

    def _install_browser(self, stage: Stage) -> None:
        system.install_packages([system.BROWSER], self._layout.log("browser"))

    def _train(self, stage: Stage) -> None:
        def show(line: str) -> None:
            stage.text = line.removeprefix("stage1: ")[:_SHOWN]

        layout = self._layout
        env = {**activation.environment(layout, dict(os.environ)), "OMP_NUM_THREADS": "1"}
        command = [layout.python, *STAGE1]
        run(command, layout.log("stage1"), env=env, cwd=layout.root, on_line=show, cancelled=self._cancelled)
