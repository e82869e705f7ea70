"""What the learner says about itself, flat, once a second or whenever it is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LearnerStats:
    """The fields of msg/LearnerStats.msg, which explains them. NaN stands for what nothing has measured yet."""

    # receipt
    rows_received: int
    rows: int
    rows_evicted: int
    duplicates: int
    refused: int
    seconds_since_row: float
    # phases
    phases: int
    successes: int
    failures: int
    recent_success: float
    recent_steps: float
    intervention_rate: float
    human_rate: float
    human_share: float
    # updates
    critic_updates: int
    actor_updates: int
    update_debt: int
    updates_forgone: int
    updates_per_second: float
    updates_per_row: float
    # weights
    weights_version: int
    weights_age: float
    weights_age_updates: int
    gate_open: bool
    gate_reason: str
    # the last update
    critic_loss: float
    actor_loss: float
    bc_loss: float
    critic_grad_norm: float
    actor_grad_norm: float
    # critics, probed
    q_mean: float
    q_min: float
    q_max: float
    q_excess: float
    q_disagreement: float
    q_return_error: float
    q_return_correlation: float
    q_gap: float
    target_mean: float
    target_std: float
    q_action_sensitivity: float
    # actor, probed
    q_pi: float
    q_members: tuple[float, ...]
    q_advantage: float
    q_weight: float
    bc_weight: float
    weighted_q: float
    weighted_bc: float
    bc_ref_loss: float
    bc_human_loss: float
    bc_q_cosine: float
    q_pull: float
    reference_error: float
    reference_error_dropped: float
    residual_mm: float
    residual_mm_max: float
    residual_rad: float
    residual_rad_max: float
    # batches and noise
    terminal_ratio: float
    human_ratio: float
    rollout_noise_mm: float
    training_noise_mm: float
    target_noise_mm: float
    # alarms, set by `alarms.Alarms`
    alarm_q: float = 0.0
    alarm_q_return: float = 0.0
    alarm_copy: float = 0.0
    alarm_action: float = 0.0
    alarm_weights: float = 0.0
    alarm_rows: float = 0.0
    alarms: str = ""
