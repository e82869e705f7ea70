"""Settings: the launch file's parameters mean the same in one process, and nothing is misspelt in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlt_ros.loop.pace import Pace
from rlt_ros.loop.session import Progress
from rlt_ros.loop.settings import Settings, from_arguments, from_file, settings
from rlt_ros.strict import ConfigError

ROOT = Path(__file__).parents[2]


def parsed(*arguments: str) -> Settings:
    return settings([from_arguments(arguments)], {})


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return path


def test_values_have_the_types_of_their_settings() -> None:
    chosen = parsed("bc_beta=1", "learning_rate=1e-3", "gate_reference_error=inf", "passthrough=[5, 6]", "utd=1",
                    "gate_outcomes=one", "half_precision_z=false", "store_from=approach", "fail_after=60")  # fmt: skip
    agent = chosen.agent
    assert (agent.bc_beta, agent.learning_rate, agent.gate_reference_error) == (1.0, 1e-3, float("inf"))
    assert (agent.passthrough, agent.utd, agent.gate_outcomes) == ((5, 6), 1, "one")
    assert agent.half_precision_z is False
    assert chosen.loop.store_from == "approach" and chosen.operator.fail_after == 60


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("bc_betta=1", "unknown setting 'bc_betta'; known are actor_after,"),
        ("bc_beta", "expected name=value"),
        ("utd=fast", "agent.utd: expected int, found 'fast'"),
        ("utd=1.5", "agent.utd: expected int, found 1.5"),
        ("gamma=2", "gamma is 2.0; expected in"),
        ("async_training=1", "agent.async_training: expected bool, found 1"),
        ("seed=3", "use --seed"),
        ("practice_minutes=3", "use --minutes"),
        ("control_rate=50", "unknown setting 'control_rate'"),
        ("passthrough=[", "is no value"),
    ],
)
def test_what_is_wrong_is_named(argument: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        parsed(argument)
    assert message in str(error.value)


def test_what_several_parts_share_is_set_in_all_of_them() -> None:
    chosen = parsed("sigma=0.05", "noise_hold=3", "stride=1", "warmup_episodes=4")
    assert chosen.loop.sigma == chosen.agent.rollout_noise == 0.05
    assert chosen.loop.noise_hold == chosen.agent.noise_hold == 3
    assert chosen.loop.stride == chosen.agent.stride == 1
    assert chosen.session.warmup_episodes == chosen.agent.warmup_episodes == 4
    assert parsed("rollout_noise=0.2").loop.sigma == 0.2


def test_later_sources_win_over_earlier_ones_and_options_over_all() -> None:
    file, arguments = {"agent": {"utd": 2, "gamma": 0.9}}, {"agent": {"utd": 3, "seed": 1}}
    agent = settings([file, arguments], {"agent": {"seed": 7}}).agent
    assert (agent.utd, agent.gamma, agent.seed) == (3, 0.9, 7)


def test_the_parameters_that_come_with_the_package_change_nothing() -> None:
    assert settings([from_file(ROOT / "config" / "stage2.yaml")], {}) == Settings()


def test_learner_actor_and_teleop_are_read_and_what_only_nodes_need_is_left(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
/**:
  ros__parameters: {use_sim_time: true, utd: 2}
/**/learner:
  ros__parameters: {bc_beta: 0.3, save_every: 500, nice: 10, threads: 2, weights_every: 2.0}
/rlt/actor:
  ros__parameters: {sigma: 0.2, threads: 1, outbox_bound: 10}
teleop:
  ros__parameters: {fail_after: 30, time_limit: 30, scripted: true}
/**/executor:
  ros__parameters: {anything: 1}
""",
    )
    chosen = settings([from_file(path)], {})
    assert (chosen.agent.utd, chosen.agent.bc_beta, chosen.agent.threads) == (2, 0.3, 2)
    assert chosen.record.save_every == 500
    assert chosen.loop.sigma == chosen.agent.rollout_noise == 0.2
    assert (chosen.operator.fail_after, chosen.session.time_limit) == (30, 30)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/**/learner:\n  ros__parameters: {utdd: 2}", "/**/learner: unknown setting 'utdd'"),
        ("/**/learner:\n  ros__parameters: {sigma: 0.1}", "/**/learner: unknown setting 'sigma'"),
        ("/**/learner: {utd: 2}", "expected a mapping with ros__parameters"),
        ("[1, 2]", "expected a mapping, found list"),
        (
            "/**/learner:\n  ros__parameters: {stride: 2}\n/**/actor:\n  ros__parameters: {stride: 1}",
            "stride is 1 here and 2 before",
        ),
    ],
)
def test_a_wrong_file_is_named_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        from_file(path)
    assert message in str(error.value) and str(path) in str(error.value)


def test_settings_are_json_ready() -> None:
    import json

    assert json.loads(json.dumps(Settings().as_dict()))["agent"]["passthrough"] == [6]


def test_the_pace_tells_rate_and_remaining_time_of_each_stage() -> None:
    now = [0.0]
    pace = Pace(20.0, lambda: now[0])

    def at(seconds: float, stage: str, episode: int, practised: int) -> str:
        now[0] = seconds
        return pace.of(Progress(stage, episode, None, practised, 8400), eval_episodes=50)

    assert at(1.0, "practice", 1, 100) == "0.0x real time"
    assert at(2.0, "practice", 2, 400) == "", "a line came a moment ago"
    assert at(11.0, "practice", 3, 2100) == "10.0x real time, 32 s left"
    assert at(20.0, "base", 1, 8400) == "0.0 episodes/s"
    assert at(30.0, "base", 21, 8400) == "2.0 episodes/s, 14 s left"
    assert at(40.0, "done", 0, 8400) == ""
