"""The defaults are the design's, and settings that cannot be meant are refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from rlt_ros.rl.config import OPERATIONAL, AgentConfig, Dims
from rlt_ros.strict import ConfigError, build


def test_defaults_of_the_design():
    c = AgentConfig()
    assert (c.gamma, c.bc_beta, c.utd, c.batch, c.actor_every) == (0.99, 0.1, 5, 64, 2)
    assert (c.critics, c.target_critics, c.q_low, c.q_high) == (3, 2, 0.0, 1.0)
    assert (c.learning_rate, c.tau, c.target_noise, c.target_noise_clip) == (3e-4, 0.005, 0.1, 0.2)
    assert (c.rollout_noise, c.noise_hold, c.ema, c.reference_dropout) == (0.1, 5, 0.003, 0.5)
    assert (c.hidden, c.layers, c.warmup_episodes, c.replay_capacity) == (256, 2, 20, 100_000)
    assert (c.actor_form, c.q_weight, c.ramp_updates, c.training_noise) == ("absolute", 1.0, 0, 0.0)
    assert (c.bootstrap_type, c.sample_window, c.human_share) == ("standard", 0, 0.0)
    assert (c.chunk, c.stride, c.policy_dims(Dims(64))) == (10, 2, (0, 1, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gamma": 1.5}, r"gamma is 1.5; expected in \(0, 1\]"),
        ({"stride": 11}, r"stride is 11; expected in 1..chunk \(10\)"),
        ({"target_critics": 4}, r"target_critics is 4; expected in 1..critics \(3\)"),
        ({"gate_outcomes": "all"}, "gate_outcomes is 'all'; expected 'both' or 'one' or 'none'"),
        ({"replay_capacity": 100}, r"replay_capacity is 100; expected at least 2 \* batch \(64\)"),
        ({"q_high": 0.0}, "q_high is 0.0; expected above q_low"),
        ({"bc_pretrain_updates": 0}, "gate_reference_error is 0.02; expected inf without pre-training"),
        ({"utd": -1}, "utd is -1; expected not negative"),
        ({"training_noise": -0.1}, "training_noise is -0.1; expected not negative"),
        ({"bootstrap_type": "never"}, "bootstrap_type is 'never'; expected 'standard' or 'always'"),
        ({"actor_form": "delta"}, "actor_form is 'delta'; expected 'absolute' or 'residual'"),
        ({"residual_limit": 1.5}, r"residual_limit is 1.5; expected in \(0, 1\]"),
        ({"ramp_after": 5}, "ramp_after is 5; expected 0 without ramp_updates"),
        ({"sample_window": 100}, r"sample_window is 100; expected 0 or at least 2 \* batch \(64\)"),
        ({"human_share": 0.001}, "human_share is 0.001; expected 0, or at least one row and not all of a batch of 64"),
        ({"human_share": 1.0}, "human_share is 1.0; expected 0, or at least one row"),
        ({"precision": "float16"}, "precision is 'float16'; expected 'float32' or 'bfloat16'"),
        ({"betta": 1.0}, "unknown key 'betta'"),
        ({"batch": "64"}, "expected int, found '64'"),
    ],
)
def test_refusals(values, message):
    with pytest.raises(ConfigError, match=message):
        build(AgentConfig, values, "agent")


def test_settings_survive_the_way_through_json_values():
    config = AgentConfig(passthrough=(0, 6), gamma=0.97)
    assert build(AgentConfig, config.as_dict(), "agent") == config


def test_operational_settings_exist():
    assert set(OPERATIONAL) <= {f.name for f in fields(AgentConfig)}


def test_nothing_left_to_learn_is_refused():
    with pytest.raises(ValueError, match="leaves none of 7"):
        AgentConfig(passthrough=tuple(range(7))).policy_dims(Dims(64))


def test_a_missing_torch_is_named_with_the_extra():
    without = "import sys; sys.modules['torch'] = None"
    code = f"{without}; import rlt_ros.rl.config, rlt_ros.rl.journal; import rlt_ros.rl.agent"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "torch is missing: pip install 'rlt_ros[learn]'" in result.stderr
