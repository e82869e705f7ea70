"""The names and arguments of LeRobot's `RLAlgorithm`, commit 7427f318, and its real trainer where it is installed."""

from __future__ import annotations

import inspect

import pytest
import torch
from lerobot_batches import ROWS, algorithm, batch

from rlt_ros.lerobot.algorithm import RLTAlgorithm
from rlt_ros.lerobot.config import RLTConfig
from rlt_ros.lerobot.contract import RLAlgorithm, TrainingStats

CONTRACT = {
    "update": ("batch_iterator",),
    "configure_data_iterator": ("data_mixer", "batch_size", "*async_prefetch", "*queue_size"),
    "make_optimizers_and_scheduler": (),
    "get_optimizers": (),
    "get_weights": (),
    "load_weights": ("weights", "device"),
    "state_dict": (),
    "load_state_dict": ("state_dict", "device"),
    "save_pretrained": ("save_directory", "*repo_id", "*push_to_hub"),
    "push_to_hub": ("repo_id",),
    "from_pretrained": (
        "pretrained_name_or_path", "*policy", "*config", "*force_download", "*resume_download", "*proxies", "*token",
        "*cache_dir", "*local_files_only", "*revision", "*device",
    ),
    # Of the RLT algorithm of pull request 3201, not of the base class.
    "supports_offline_phase": (),
    "offline_update": ("batch_iterator",),
    "transition_to_online": (),
}  # fmt: skip
"""Method to its arguments in their order; with a star by keyword."""


def arguments(method) -> list[str]:
    parameters = [p for p in inspect.signature(method).parameters.values() if p.name not in ("self", "cls")]
    return [f"{'*' * (p.kind == p.KEYWORD_ONLY)}{p.name}" for p in parameters]


@pytest.mark.parametrize("name", CONTRACT)
def test_every_method_of_the_contract_is_there_with_its_arguments(name):
    found = arguments(getattr(RLTAlgorithm, name))
    positional = [argument for argument in CONTRACT[name] if not argument.startswith("*")]
    assert found[: len(positional)] == positional
    assert set(CONTRACT[name]) <= set(found)


def test_attributes_of_the_contract_are_there():
    made = algorithm()
    assert made.name == "rlt" and made.config_class is RLTConfig and isinstance(made.config, RLTConfig)
    made.optimization_step = 7.0
    assert made.optimization_step == 7 and isinstance(made.optimization_step, int)


def test_statistics_have_the_contracts_fields():
    stats = TrainingStats(losses={"loss_critic": 1.0}, grad_norms={"critic": 2.0}, extra={"q": 3.0})
    assert stats.to_log_dict() == {"loss_critic": 1.0, "critic_grad_norm": 2.0, "q": 3.0}
    assert TrainingStats() == TrainingStats({}, {}, {})


def test_the_state_is_a_flat_mapping_of_tensors():
    state = algorithm().state_dict()
    assert state and all(isinstance(name, str) and isinstance(t, torch.Tensor) for name, t in state.items())


def test_lerobots_real_base_class_and_trainer_accept_it():
    if RLAlgorithm is None:
        pytest.skip("lerobot is not installed: its base class and trainer were not tried")
    made = algorithm()
    assert isinstance(made, RLAlgorithm)
    for name in RLAlgorithm.__abstractmethods__:
        theirs, ours = arguments(getattr(RLAlgorithm, name)), arguments(getattr(RLTAlgorithm, name))
        assert ours[: len(theirs)] == theirs, name
    for name in ("configure_data_iterator", "get_optimizers", "get_weights", "from_pretrained"):
        assert set(arguments(getattr(RLAlgorithm, name))) - {"algo_kwargs"} <= set(arguments(getattr(made, name))), name


def test_lerobots_real_replay_mixer_and_trainer_drive_it():
    if RLAlgorithm is None:
        pytest.skip("lerobot is not installed: its replay buffer, mixer and trainer were not tried")
    from lerobot.rl.buffer import ReplayBuffer
    from lerobot.rl.data_sources import OnlineOfflineMixer
    from lerobot.rl.trainer import RLTrainer

    stored = batch()
    buffer = ReplayBuffer(16, device="cpu", state_keys=list(stored["state"]))
    for i in range(ROWS):
        row = torch.utils._pytree.tree_map(lambda tensor: tensor[i : i + 1], stored)  # noqa: B023
        rewards, single = row.pop("reward"), {name: bool(row.pop(name)) for name in ("done", "truncated")}
        row["complementary_info"] |= {"rewards": rewards, "valid_horizon": int(stored_horizon(row))}
        buffer.add(**row, reward=float(rewards.sum()), **single)
    made = algorithm(utd=3)
    trainer = RLTrainer(algorithm=made, data_mixer=OnlineOfflineMixer(buffer), batch_size=ROWS)
    for _ in range(2):
        assert isinstance(trainer.training_step(), TrainingStats)
    assert made.agent.critic_updates == 6 and made.optimization_step == 2
    trainer.reset_data_iterator()


def stored_horizon(row):
    return row["complementary_info"]["valid_horizon"]
