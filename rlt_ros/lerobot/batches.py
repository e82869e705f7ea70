"""LeRobot's replay batches in, ours out.

    state, next_state                          observations before and after the window (`observations`)
    action                                     (B, C, A) executed
    reward                                     (B, C) per step, or (B,): earned at the last executed step
    done                                       (B,) terminated: nothing is bootstrapped
    truncated                                  (B,) cut off: bootstraps from next_state; may be missing
    complementary_info.reference_action        (B, H, A), H >= C, in [-1, 1]: the VLA's chunk at state
    complementary_info.next_reference_action   (B, H, A), the one at next_state
    complementary_info.valid_horizon           (B,) executed steps, 1 to C; without it C
    complementary_info.is_intervention         (B,) or per step (B, C); without it no human drove
    complementary_info.rewards                 (B, C) instead of reward: LeRobot's buffer stores one number there

Chunks may be flat, (B, C * A), a column may be (B, 1), and complementary_info may be nested or spelt with the dot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlt_ros.lerobot import observations
from rlt_ros.lerobot.config import RLTConfig
from rlt_ros.lerobot.fields import BatchError, chunks, column, expect, finite, misshapen, take
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import Tensor, torch

INFO = "complementary_info"
REFERENCE, NEXT_REFERENCE = f"{INFO}.reference_action", f"{INFO}.next_reference_action"
HORIZON, HUMAN, REWARDS = f"{INFO}.valid_horizon", f"{INFO}.is_intervention", f"{INFO}.rewards"


def rows_of(batch: Mapping[str, Any], state: Tensor, next_state: Tensor, config: RLTConfig) -> Batch:
    """A batch for `Agent.update`, with the states (B, S) that the policy made of it. Raises BatchError.

    In terminated rows the next_* entries repeat the current ones, as in our own replay: what a buffer has there may
    never have been written. With `bootstrap_type` "always" they must follow the outcome, and are read.
    """
    info, shape = _info(batch), (len(state), config.agent.chunk, config.action)
    terminated, horizon = _terminated(batch, shape[0], config), _horizon(info, shape[0], config)
    steps = torch.arange(config.agent.chunk, device=config.agent.device)
    valid = (steps < horizon.unsqueeze(1)).float()
    action = expect("action", chunks(batch, "action", config.action, config.agent.device), shape)
    reference = expect(REFERENCE, observations.reference(info, REFERENCE, config), shape)
    following = expect(NEXT_REFERENCE, observations.reference(info, NEXT_REFERENCE, config), shape)
    goes_on = terminated.unsqueeze(1) == 0
    if config.agent.bootstrap_type == "always":
        goes_on = torch.ones_like(goes_on)
    return Batch(
        state=finite("state", state),
        next_state=finite("next_state", torch.where(goes_on, expect("next_state", next_state, state.shape), state)),
        reference=bounded(REFERENCE, reference),
        next_reference=bounded(NEXT_REFERENCE, torch.where(goes_on.unsqueeze(2), following, reference)),
        action=finite("action", torch.where(valid.unsqueeze(2) > 0, action, 0.0)),
        rewards=finite("reward", torch.where(valid > 0, _rewards(batch, info, horizon, config), 0.0)),
        human=_human(info, shape, config) * valid,
        valid=valid,
        horizon=horizon,
        terminated=terminated,
        mc_return=torch.full_like(horizon, torch.nan),
        row=torch.zeros_like(horizon, dtype=torch.int64),
    )


def bounded(key: str, reference: Tensor) -> Tensor:
    """The reference, finite and in [-1, 1]: beyond, the bounded actor could not copy it. Raises BatchError."""
    largest = float(finite(key, reference).abs().max())
    if largest > 1.0:
        raise BatchError(f"{key} reaches {largest:g}; expected at most 1")
    return reference


def _info(batch: Mapping[str, Any]) -> dict[str, Any]:
    nested = {f"{INFO}.{name}": value for name, value in (batch.get(INFO) or {}).items()}
    return nested | {key: value for key, value in batch.items() if key.startswith(f"{INFO}.")}


def _terminated(batch: Mapping[str, Any], rows: int, config: RLTConfig) -> Tensor:
    terminated = column(batch, "done", rows, config.agent.device)
    if "truncated" in batch:
        both = int((terminated * column(batch, "truncated", rows, config.agent.device) > 0).sum())
        if both:
            raise BatchError(f"done and truncated both hold in {both} rows; done must mean terminated only")
    return terminated


def _horizon(info: Mapping[str, Any], rows: int, config: RLTConfig) -> Tensor:
    chunk = config.agent.chunk
    if HORIZON not in info:
        return torch.full((rows,), float(chunk), device=config.agent.device)
    horizon = column(info, HORIZON, rows, config.agent.device)
    if not ((horizon >= 1) & (horizon <= chunk) & (horizon == horizon.round())).all():
        raise BatchError(f"{HORIZON} is {horizon.tolist()}; expected whole numbers in 1..{chunk}")
    return horizon


def _human(info: Mapping[str, Any], shape: tuple[int, int, int], config: RLTConfig) -> Tensor:
    rows, chunk, width = shape
    if HUMAN not in info:
        return torch.zeros(rows, chunk, device=config.agent.device)
    human = take(info, HUMAN, config.agent.device) > 0.5
    if human.numel() == rows * chunk * width:
        human = human.reshape(shape).any(dim=2)
    if human.numel() == rows:
        human = human.reshape(rows, 1).expand(rows, chunk)
    return expect(HUMAN, human, (rows, chunk)).float()


def _rewards(batch: Mapping[str, Any], info: Mapping[str, Any], horizon: Tensor, config: RLTConfig) -> Tensor:
    rows, chunk = len(horizon), config.agent.chunk
    if REWARDS in info:
        return expect(REWARDS, take(info, REWARDS, config.agent.device), (rows, chunk))
    reward = take(batch, "reward", config.agent.device)
    if reward.shape == (rows, chunk):
        return reward
    if reward.numel() != rows:
        raise misshapen("reward", reward, f"({rows}, {chunk}) or ({rows},)")
    last = (horizon - 1).long().unsqueeze(1)
    return reward.new_zeros(rows, chunk).scatter_(1, last, reward.reshape(rows, 1))
