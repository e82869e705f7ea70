"""The flow-matching head."""

import pytest
import torch

from rlt_ros.vla.config import TinyConfig
from rlt_ros.vla.flow import FlowHead, differentiate, integrate, seeded_noise

CONFIG = TinyConfig(width=48, heads=2, horizon=8, readout=2, cameras=("front",), image_size=32, instruction_slots=1)


@pytest.fixture
def head():
    torch.manual_seed(0)
    return FlowHead(CONFIG)


@pytest.fixture
def prefix():
    tokens = torch.randn(3, CONFIG.tokens, CONFIG.width, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(3, CONFIG.tokens, dtype=torch.bool)
    mask[1, 2:] = False
    return tokens, mask


def test_noise_of_a_seed_does_not_depend_on_its_neighbours():
    assert torch.equal(seeded_noise([4, 9], 8, 7)[1], seeded_noise([9], 8, 7)[0])


def test_differentiate_is_the_inverse_of_integrate():
    actions = torch.randn(2, 8, 7)
    torch.testing.assert_close(differentiate(integrate(actions)), actions)


def test_the_gripper_is_a_state_and_is_not_summed():
    actions = torch.ones(1, 8, 7)
    assert integrate(actions)[0, -1].tolist() == [8, 8, 8, 8, 8, 8, 1]


def test_masked_tokens_have_no_influence_on_actions(head, prefix):
    tokens, mask = prefix
    noise = seeded_noise([1, 2, 3], 8, 7)
    changed = torch.where(mask[..., None], tokens, 50.0)
    torch.testing.assert_close(head.sample(tokens, mask, noise), head.sample(changed, mask, noise))


def test_steps_beyond_the_episode_have_no_influence_on_the_loss(head, prefix):
    tokens, mask = prefix
    actions, noise, time = torch.randn(3, 8, 7), torch.randn(6, 8, 7), torch.rand(6)
    valid = torch.arange(8) < torch.tensor([8, 5, 1])[:, None]
    head.std.fill_(0.5)
    # The network sees the noisy tail too, as it sees a padded one in training; its targets are what must not count.
    losses = [head.loss(tokens, mask, actions, valid, noise, torch.zeros_like(time))]
    losses.append(head.loss(tokens, mask, torch.where(valid[..., None], actions, 9.0), valid, noise, torch.zeros(6)))
    torch.testing.assert_close(losses[0], losses[1])


def test_flow_times_of_one_observation_share_its_prefix(head, prefix):
    tokens, mask = prefix
    actions, noise, time = torch.randn(3, 8, 7), torch.randn(6, 8, 7), torch.rand(6)
    valid = torch.ones(3, 8, dtype=torch.bool)
    halves = [head.loss(tokens, mask, actions, valid, noise[i : i + 3], time[i : i + 3]) for i in (0, 3)]
    torch.testing.assert_close(head.loss(tokens, mask, actions, valid, noise, time), sum(halves) / 2)


def test_training_leads_from_noise_to_the_demonstrated_actions(prefix):
    torch.manual_seed(0)
    head, (tokens, mask) = FlowHead(CONFIG), prefix
    actions = torch.rand(3, 8, 7, generator=torch.Generator().manual_seed(2)) - 0.5
    head.standardise(torch.cat([actions, -actions]))
    valid, draw = torch.ones(3, 8, dtype=torch.bool), torch.Generator().manual_seed(3)
    optimiser = torch.optim.Adam(head.parameters(), lr=3e-3)
    for _ in range(400):
        noise, time = torch.randn(24, 8, 7, generator=draw), torch.rand(24, generator=draw)
        loss = head.loss(tokens, mask, actions, valid, noise, time)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        sampled = head.sample(tokens, mask, seeded_noise([1, 2, 3], 8, 7))
    assert (sampled - actions).square().mean() < 0.2 * actions.square().mean()
