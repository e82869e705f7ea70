"""Updates for CUDA graphs: the numbers of `Agent` from fixed memory. Capturing needs a GPU, equality does not."""

from __future__ import annotations

import pytest
from synthetic import DIMS, rows, small_config

from rlt_ros.rl.agent import Agent
from rlt_ros.rl.algorithms import make_agent
from rlt_ros.rl.graphs import Captured, GraphedAgent
from rlt_ros.rl.replay import Batch, Replay
from rlt_ros.tensor import torch

SETTINGS = {
    "plain": {},
    "noisy": {"target_noise": 0.2, "training_noise": 0.1, "reference_dropout": 0.5},
    "ramped": {"ramp_updates": 10, "q_weight_start": 0.1, "bc_beta_start": 2.0},
    "clipped": {"grad_clip": 1e-3},
    "residual": {"actor_form": "residual", "reference_dropout": 0.0},
    "two_of_five": {"critics": 5, "target_critics": 2},
}


def batches(config, count: int = 12) -> list[Batch]:
    replay = Replay(config, DIMS)
    for row in rows(40):
        replay.add(row)
    draw = torch.Generator().manual_seed(1)
    return [replay.sample(config.batch, draw) for _ in range(count)]


def pair(**settings) -> tuple[Agent, GraphedAgent, list[Batch]]:
    config = small_config(actor_after=2, **settings)
    # On a CPU nothing can be captured: the function itself is called again and again, on the same memory.
    return Agent(config, DIMS), GraphedAgent(config, DIMS, capture=lambda function: function), batches(config)


def assert_same(one: Agent, other: Agent) -> None:
    named = other.tensors()
    for name, tensor in one.tensors().items():
        torch.testing.assert_close(named[name], tensor, rtol=1e-4, atol=1e-6, msg=name)


@pytest.mark.parametrize("name", SETTINGS)
def test_pretraining_and_updates_give_the_same_networks_and_figures(name: str) -> None:
    eager, static, given = pair(**SETTINGS[name])
    for batch in given[:3]:
        torch.testing.assert_close(static.pretrain(batch), eager.pretrain(batch))
    for batch in given:
        one, other = eager.update(batch), static.update(batch)
        assert (one.actor_loss is None) == (other.actor_loss is None)
        torch.testing.assert_close(other.critic_loss, one.critic_loss, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(static.grad_norm("critic"), eager.grad_norm("critic"), rtol=1e-4, atol=1e-6)
    assert eager.actor_updates == static.actor_updates > 0
    assert_same(eager, static)


def test_an_update_reads_and_writes_the_same_memory_each_time() -> None:
    _, static, given = pair(target_noise=0.2, reference_dropout=0.5)
    calls = []
    static._capture = lambda function: lambda: (calls.append(tuple(addresses(static))), function())[1]
    for batch in given:
        static.update(batch)
    assert len(calls) > len(given) and len(set(calls)) == 1


def addresses(agent: GraphedAgent) -> list[int]:
    fixed = [*vars(agent._batch).values(), *(v for v in vars(agent._prepared).values() if isinstance(v, torch.Tensor))]
    fixed += [tensor for name, tensor in agent.tensors().items() if name.split(".")[0] in ("actor", "critic", "target")]
    return [tensor.data_ptr() for tensor in fixed]


def test_what_was_captured_is_captured_anew_after_loading() -> None:
    _, static, given = pair()
    captured = []
    static._capture = lambda function: captured.append(function) or function
    static.update(given[0])
    static.load_tensors({name: tensor.clone() for name, tensor in static.tensors().items()})
    static.update(given[1])
    assert len(captured) == 4


def test_figures_of_one_update_outlive_the_next() -> None:
    _, static, given = pair()
    first = static.update(given[0])
    kept = first.critic_loss.clone()
    static.update(given[1])
    assert torch.equal(first.critic_loss, kept)


def test_questions_between_updates_draw_as_an_agents_own() -> None:
    eager, static, given = pair(target_noise=0.2)
    for agent in (eager, static):
        agent.update(given[0])
    torch.testing.assert_close(static.target_values(given[1]), eager.target_values(given[1]))


def test_graphs_are_refused_where_there_is_no_gpu_to_replay_them() -> None:
    with pytest.raises(ValueError, match="cuda_graphs is True; expected false on another device"):
        small_config(cuda_graphs=True)
    assert type(make_agent(small_config(), DIMS)) is Agent


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu_replayed_updates_give_the_same_networks() -> None:
    config = small_config(actor_after=2, device="cuda")
    eager, graphed = Agent(config, DIMS), GraphedAgent(config, DIMS, capture=Captured)
    for batch in batches(config):
        eager.update(batch)
        graphed.update(batch)
    assert_same(eager, graphed)
