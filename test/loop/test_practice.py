"""A whole run on the tiny world with a real learner: moments change nothing, failures end it, files go on."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from point_world import PointOperator, parts

from rlt_ros.loop.config import LoopConfig
from rlt_ros.loop.evaluation import Evaluator, best_dither
from rlt_ros.loop.parts import Parts
from rlt_ros.loop.practice import Practice, Wishes
from rlt_ros.loop.record import Record
from rlt_ros.loop.session import EXPERT, FINAL, SessionConfig
from rlt_ros.loop.settings import Settings
from rlt_ros.types import Driver, Transition

torch = pytest.importorskip("torch")

from rlt_ros.rl.checkpoint import latest, resume  # noqa: E402 - needs torch
from rlt_ros.rl.config import AgentConfig, Dims  # noqa: E402
from rlt_ros.rl.journal import Journal  # noqa: E402
from rlt_ros.rl.learner import Diverged, Learner  # noqa: E402
from rlt_ros.rl.trainer import TrainingFailed  # noqa: E402
from rlt_ros.rl.weights import load_policy  # noqa: E402

AGENT = AgentConfig(
    hidden=16, batch=8, critics=2, utd=1, warmup_episodes=1, warmup_rows=16, bc_pretrain_updates=40, actor_after=5,
    gate_rows=20, gate_updates=5, gate_outcomes="none", gate_reference_error=9.0, replay_capacity=512,
)  # fmt: skip
SESSION = SessionConfig(
    practice_minutes=0.2, control_rate=20.0, eval_episodes=1, warmup_episodes=1, time_limit=40, seed=1
)
SETTINGS = Settings(agent=AGENT, session=SESSION)


class Unsteady(PointOperator):
    """Draws a random number in every phase, as the scripted operator does, and helps by it."""

    def __init__(self) -> None:
        super().__init__()
        self._rng = np.random.default_rng(0)

    def decide(self, truth: Any, phase: Any, steps_in_phase: int, mode: Any, may_help: bool = True) -> list:
        asked = super().decide(truth, phase, steps_in_phase, mode, may_help)
        if any(request.value == "begin" for request in asked):
            self.helps = self._rng.random() < 0.5
        return asked if may_help else [request for request in asked if request.value != "mode_human"]


def made(agent: AgentConfig = AGENT) -> Parts:
    learner = Learner(agent, Dims(z=3), "point", 5.0)
    return replace(parts(Unsteady()), learner=learner, load=lambda weights: load_policy(weights, "point"))


def ran(settings: Settings = SETTINGS, wishes: Wishes | None = None, run_dir: Path | None = None) -> tuple[Parts, dict]:
    subject = made(settings.agent)
    record = Record(run_dir, subject.learner) if run_dir else None
    return subject, Practice(subject, settings, wishes or Wishes(), record).run()


def rows_of(subject: Parts) -> dict[str, np.ndarray]:
    return {name: column[: subject.learner.rows] for name, column in subject.learner.replay._columns.items()}


@pytest.fixture(scope="module")
def plain() -> tuple[Parts, dict]:
    return ran()


@pytest.fixture(scope="module")
def with_moments() -> tuple[Parts, dict]:
    return ran(wishes=Wishes(moments=(0.06, 0.12, 0.2), dither=(0.1, 0.3), expert=True))


def test_evaluation_at_moments_changes_neither_rows_nor_weights(plain, with_moments) -> None:
    (one, _), (two, summary) = plain, with_moments
    assert len(summary["moments"]) == 3
    for name, column in rows_of(one).items():
        np.testing.assert_array_equal(column, rows_of(two)[name], err_msg=name)
    first, second = one.learner.state()[0], two.learner.state()[0]
    assert all(torch.equal(first[name], second[name]) for name in first)
    for name in ("base", "base_with_noise", "final", "final_with_noise", "practice", "updates", "transitions"):
        assert plain[1][name] == summary[name], name


def test_moments_say_what_was_evaluated_and_the_last_one_is_the_final_evaluation(with_moments) -> None:
    _, summary = with_moments
    first, second, last = summary["moments"]
    assert [moment["minutes"] for moment in summary["moments"]] == [0.06, 0.12, 0.2]
    assert all(moment["practised_minutes"] >= moment["minutes"] for moment in summary["moments"])
    assert first["rows"] < second["rows"] < last["rows"] == summary["transitions"]["published"]
    assert first["updates"]["critic"] < second["updates"]["critic"] < last["updates"]["critic"]
    assert all(moment[name]["episodes"] == 1 for moment in summary["moments"] for name in FINAL)
    assert last["final"] == summary["final"] and last["final_with_noise"] == summary["final_with_noise"]


def test_baselines_stand_beside_the_learned_actor(with_moments) -> None:
    _, summary = with_moments
    assert {**summary["expert"], "mean_steps": 0} == {"episodes": 1, "successes": 1, "invalid": 0, "mean_steps": 0}
    assert summary["expert"]["mean_steps"] < 20
    assert list(summary["dither"]) == ["0.1", "0.3"]
    assert summary["best_dither"]["sigma"] in (0.1, 0.3)


def test_every_evaluation_has_the_same_start_states_and_practice_others(with_moments) -> None:
    subject, summary = with_moments
    seeds = subject.world.seeds
    evaluated = [seed for seed in seeds if seed >= 2**30]
    # two moments of two, the four at the end, expert, two of dither
    assert len(evaluated) == 2 * 2 + 4 + 1 + 2 and len(set(evaluated)) == 1
    assert len(set(seeds) - set(evaluated)) == summary["practice"]["episodes"] == len(seeds) - len(evaluated)


def test_the_expert_drives_all_of_the_critical_phase_and_is_not_thrown_out_as_help() -> None:
    evaluator = Evaluator(parts(PointOperator()), SESSION, LoopConfig())
    loops = []
    evaluator._episode = loops.append
    assert evaluator.scores(EXPERT)["expert"]["episodes"] == 1
    counts = loops[-1].executor.counts
    assert counts["human"] > 0 and counts["actor"] == 0
    assert loops[-1].session._scores["expert"].invalid == 0


def test_the_best_dither_has_the_most_successes_and_then_the_fewest_steps() -> None:
    def score(successes: int, steps: float) -> dict:
        return {"episodes": 10, "successes": successes, "mean_steps": steps}

    scores = {"0.05": score(3, 80.0), "0.1": score(6, 60.0), "0.2": score(6, 50.0), "0.3": score(4, 20.0)}
    assert best_dither(scores) == {"sigma": 0.2, **score(6, 50.0)}
    assert best_dither({"0.1": {"episodes": 0, "successes": 0, "mean_steps": None}}) is None


@pytest.fixture(scope="module")
def background(tmp_path_factory: pytest.TempPathFactory) -> tuple[Parts, dict, Path]:
    run_dir = tmp_path_factory.mktemp("background") / "run"
    return (*ran(replace(SETTINGS, agent=replace(AGENT, async_training=True)), run_dir=run_dir), run_dir)


def test_what_is_evaluated_at_the_end_has_learned_from_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, waited_for, owed = made(replace(AGENT, async_training=True)), threading.Event(), []
    train, reset = subject.learner.train, subject.world.reset

    def train_when_waited_for(*limits: Any) -> int:
        assert waited_for.wait(60.0)
        return train(*limits)

    def note_what_is_owed(seed: int) -> None:
        owed.extend([subject.learner.due_updates] * (seed >= 2**30))
        reset(seed)

    monkeypatch.setattr(subject.learner, "train", train_when_waited_for)
    monkeypatch.setattr(subject.world, "reset", note_what_is_owed)
    practice = Practice(subject, replace(SETTINGS, agent=subject.learner.config), Wishes())
    wait = practice._loop.trainer.wait
    monkeypatch.setattr(practice._loop.trainer, "wait", lambda: (waited_for.set(), wait()))
    practice.run()
    assert owed == [0] * 4


def test_background_training_leaves_no_backlog(background) -> None:
    subject, summary, _ = background
    assert subject.learner.due_updates == 0
    assert summary["updates"]["critic"] == summary["transitions"]["published"]
    weights = subject.learner.weights()
    assert weights.version == summary["weights"]["published"]
    assert summary["final"]["episodes"] == 1


def test_a_run_of_background_training_is_repeated_by_its_rows_alone(background) -> None:
    subject, _, run_dir = background
    again = Learner(AGENT, Dims(z=3), "point", 5.0)
    phase: list[Transition] = []
    for row in Journal(run_dir / "transitions"):
        phase.append(row)
        if row.last_of_phase:
            again.add(phase)
            again.train(10_000)
            phase.clear()
    (first, one), (second, two) = subject.learner.state(), again.state()
    assert {**one, "weights_version": 0} == {**two, "weights_version": 0}
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("background", [False, True])
def test_a_failure_of_training_ends_the_run_and_writes_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: bool
) -> None:
    subject = made(replace(AGENT, async_training=background))

    def diverge(batch: object) -> None:
        raise Diverged("critic_loss is nan at critic update 1")

    monkeypatch.setattr(subject.learner.agent, "update", diverge)
    record = Record(tmp_path / "run", subject.learner)
    settings = replace(SETTINGS, agent=subject.learner.config)
    with pytest.raises(TrainingFailed, match="critic_loss is nan"):
        Practice(subject, settings, Wishes(), record).run()
    assert latest(tmp_path / "run" / "checkpoints") is None
    assert list(Journal(tmp_path / "run" / "transitions")), "the rows are there all the same"


@pytest.mark.parametrize("background", [False, True])
def test_an_interrupted_run_leaves_what_another_one_goes_on_from(tmp_path: Path, background: bool) -> None:
    settings = replace(SETTINGS, agent=replace(AGENT, async_training=background))
    subject = made(settings.agent)
    record = Record(tmp_path / "run", subject.learner)
    practice = Practice(subject, settings, Wishes(moments=(0.06,), expert=True), record)
    published = practice._loop.windows.finish

    def interrupt_in_the_third_phase(event: Any) -> Any:
        if event.phase_id == 3:
            practice.interrupt()
        return published(event)

    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(practice._loop.windows, "finish", interrupt_in_the_third_phase)
    summary = practice.run()
    monkeypatch.undo()
    assert summary["interrupted"] and summary["practice"]["episodes"] == 3
    assert summary["final"]["episodes"] == summary["expert"]["episodes"] == 0
    assert subject.learner.update_debt > 0
    resumed = Learner(settings.agent, Dims(z=3), "point", 5.0)
    resume(resumed, iter(Journal(tmp_path / "run" / "transitions")), latest(tmp_path / "run" / "checkpoints"))
    assert resumed.rows == summary["transitions"]["published"] and resumed.update_debt == subject.learner.update_debt
    # A run that was interrupted early has its pre-training before it too, and that is no update of the critics.
    assert resumed.train(10_000) >= resumed.agent.critic_updates - subject.learner.agent.critic_updates > 0
    assert resumed.update_debt == 0


def test_rows_may_come_from_the_approach_too() -> None:
    subject, _ = ran(
        replace(SETTINGS, loop=LoopConfig(store_from="approach"), session=replace(SESSION, eval_episodes=0))
    )
    plain_one, _ = ran(replace(SETTINGS, session=replace(SESSION, eval_episodes=0)))
    assert subject.learner.rows > plain_one.learner.rows


def test_whole_windows_reach_the_end_of_every_phase() -> None:
    config = replace(SETTINGS, loop=LoopConfig(short_windows=False), session=replace(SESSION, eval_episodes=0))
    subject, summary = ran(config)
    columns = rows_of(subject)
    assert (columns["horizon"] == 10).all()
    too_short = summary["rows_dropped"].get("short", 0)
    assert columns["terminated"].sum() == summary["practice"]["episodes"] - too_short > 1


def test_the_actor_drives_in_practice_once_the_gate_is_open(plain) -> None:
    _, summary = plain
    assert summary["gate_open"] and summary["driven"][Driver.ACTOR.name.lower()] > 0
    assert summary["weights"]["applied"] == summary["weights"]["published"] > 1
