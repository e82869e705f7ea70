"""The plan of a run and honest figures."""

from __future__ import annotations

import pytest

from rlt_ros.loop.session import EXPERT, Session, SessionConfig, chosen_evaluations
from rlt_ros.types import Label, Mode


def session(gate: list[bool] | None = None, **changes: object) -> Session:
    is_open = gate if gate is not None else [True]
    values = {"practice_minutes": 0.5, "eval_episodes": 3, "warmup_episodes": 2, "seed": 1}
    return Session(SessionConfig(**(values | changes)), lambda: (is_open[0], "" if is_open[0] else "closed"))


def run(made: Session, label: Label = Label.SUCCESS, steps: int = 30, robot_steps: int = 60) -> list:
    plans = []
    while (plan := made.next_episode()) is not None:
        plans.append(plan)
        made.ended(label, steps, robot_steps)
    return plans


def test_practice_then_the_evaluations_on_the_same_fresh_start_states() -> None:
    plans = run(session())
    stages = [p.stage for p in plans]
    evaluations = [name for name in ("base", "base_with_noise", "final", "final_with_noise") for _ in range(3)]
    assert stages == ["practice"] * 10 + evaluations
    seeds = {stage: [p.reset_seed for p in plans if p.stage == stage] for stage in set(stages)}
    assert seeds["base"] == seeds["base_with_noise"] == seeds["final"] == seeds["final_with_noise"]
    assert len(set(seeds["base"])) == 3 and not set(seeds["base"]) & set(seeds["practice"])
    assert len(set(seeds["practice"])) == 10


def test_who_drives_in_each_stage() -> None:
    plans = run(session())
    drives = {(p.stage, p.policy, p.explore, p.record, p.evaluation) for p in plans}
    assert drives == {
        ("practice", Mode.VLA, True, True, False),
        ("practice", Mode.RL, True, True, False),
        ("base", Mode.VLA, False, False, True),
        ("base_with_noise", Mode.VLA, True, False, True),
        ("final", Mode.RL, False, False, True),
        ("final_with_noise", Mode.RL, True, False, True),
    }
    assert [p.policy for p in plans[:4]] == [Mode.VLA, Mode.VLA, Mode.RL, Mode.RL]


def test_the_vla_practises_until_the_gate_opens() -> None:
    gate = [False]
    made = session(gate)
    for _ in range(5):
        assert made.next_episode().policy is Mode.VLA
        made.ended(Label.SUCCESS, 30, 60)
    gate[0] = True
    assert made.next_episode().policy is Mode.RL


def test_failures_count_as_the_time_limit() -> None:
    made = session(practice_minutes=0.0, eval_episodes=2)
    for label, steps in ((Label.SUCCESS, 20), (Label.FAILURE, 55)) * 4:
        made.next_episode()
        made.ended(label, steps, 0)
    assert made.next_episode() is None
    assert made.results() == {
        name: {"episodes": 2, "successes": 1, "invalid": 0, "mean_steps": 60.0}
        for name in ("base", "base_with_noise", "final", "final_with_noise")
    }


def test_a_plan_stays_until_its_result_is_told() -> None:
    made = session()
    assert made.next_episode() is made.next_episode()
    made.ended(Label.SUCCESS, 30, 60)
    with pytest.raises(ValueError, match="not planned"):
        made.ended(Label.SUCCESS, 30, 60)


@pytest.mark.parametrize("label, intervened", [(Label.DISCARD, False), (Label.ABORT, False), (Label.SUCCESS, True)])
def test_spoilt_evaluation_episodes_run_again_on_the_same_start_state(label: Label, intervened: bool) -> None:
    """B57: help in an evaluation makes it invalid."""
    made = session(practice_minutes=0.0)
    plan = made.next_episode()
    made.ended(label, 10, 10, intervened=intervened)
    assert made.next_episode() == plan
    assert made.results()["base"] == {"episodes": 0, "successes": 0, "invalid": 1, "mean_steps": None}


def test_an_evaluation_of_the_person_is_not_spoilt_by_the_person() -> None:
    config = SessionConfig(practice_minutes=0.0, eval_episodes=1)
    made = Session(config, lambda: (True, ""), EXPERT)
    assert made.next_episode().policy is Mode.HUMAN
    made.ended(Label.SUCCESS, 12, 60, intervened=True)
    assert made.next_episode() is None
    assert made.results() == {"expert": {"episodes": 1, "successes": 1, "invalid": 0, "mean_steps": 12.0}}


def test_help_in_practice_counts() -> None:
    made = session()
    made.next_episode()
    made.ended(Label.SUCCESS, 10, 60, intervened=True)
    assert made.practice == {"episodes": 1, "successes": 1, "invalid": 0, "mean_steps": 10.0}


def test_discarded_practice_uses_robot_time_but_is_no_warm_up() -> None:
    made = session()
    for _ in range(3):
        made.next_episode()
        made.ended(Label.DISCARD, 0, 60)
    assert made.progress.practice_steps == 180
    assert made.next_episode().policy is Mode.VLA


def test_max_episodes_ends_practice() -> None:
    assert [p.stage for p in run(session(max_episodes=4))].count("practice") == 4


def test_progress() -> None:
    made = session()
    assert (made.progress.stage, made.progress.recent, made.progress.practice_total) == ("practice", None, 600)
    for label in (Label.SUCCESS, Label.FAILURE):
        made.next_episode()
        made.ended(label, 10, 60)
    assert (made.progress.episode, made.progress.recent) == (2, 0.5)
    run(made)
    assert made.progress.stage == "done"


def test_no_episode_has_no_mean() -> None:
    assert session().results()["final"] == {"episodes": 0, "successes": 0, "invalid": 0, "mean_steps": None}
    with pytest.raises(ValueError, match="eval_episodes"):
        SessionConfig(eval_episodes=-1)


def test_evaluations_are_chosen_by_name_and_in_the_order_given() -> None:
    assert list(chosen_evaluations(["final", "base"])) == ["final", "base"]
    for names in ([], ["final", "final"], ["last"]):
        with pytest.raises(ValueError, match="expected some of base, base_with_noise, final, final_with_noise, once"):
            chosen_evaluations(names)
