"""Messages to the vocabulary of `types` and back; no other module knows both.

Field checks of rclpy are off by default and a wrong type silently sends garbage, so every scalar is cast here, every
array goes in as array.array and comes out as a copy of its buffer, and shapes are checked on receipt: a message that
does not hold what it states raises `BadMessage`, which names the field and both values.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from std_msgs.msg import Header

from rlt_ros import msg
from rlt_ros.types import (
    ActionChunk,
    Driver,
    EpisodeEvent,
    ExecutedStep,
    Features,
    Label,
    Mode,
    Phase,
    PolicyMode,
    PolicyWeights,
    Transition,
    TransitionAck,
)

NANOSECONDS = 1_000_000_000


class BadMessage(ValueError):
    """A message whose content is not what it states."""


def stamp_of(header: Header) -> int:
    """Stamp of a header in nanoseconds."""
    return int(header.stamp.sec) * NANOSECONDS + int(header.stamp.nanosec)


def time_message(stamp: int) -> Time:
    """builtin_interfaces/Time from nanoseconds."""
    return Time(sec=int(stamp // NANOSECONDS), nanosec=int(stamp % NANOSECONDS))


def header(stamp: int, frame_id: str = "") -> Header:
    """std_msgs/Header from nanoseconds."""
    return Header(stamp=time_message(stamp), frame_id=frame_id)


def floats(values: np.ndarray | Iterable[float]) -> array:
    """float32[] field from any shape, row by row."""
    out = array("f")
    out.frombytes(np.ascontiguousarray(values, dtype=np.float32).tobytes())
    return out


def bytes_field(values: np.ndarray | bytes) -> array:
    """uint8[] field."""
    out = array("B")
    out.frombytes(values if isinstance(values, bytes) else np.ascontiguousarray(values, dtype=np.uint8).tobytes())
    return out


def vector(field: array, size: int | None, name: str) -> np.ndarray:
    """float32 (n,) from a float32[] field; refuses a wrong length and non-finite values."""
    values = np.frombuffer(field, dtype=np.float32).copy()
    if size is not None and values.size != size:
        raise BadMessage(f"{name} has {values.size} values; expected {size}")
    if not np.isfinite(values).all():
        raise BadMessage(f"{name}[{int(np.argmin(np.isfinite(values)))}] is not finite")
    return values


def matrix(field: array, rows: int, columns: int, name: str) -> np.ndarray:
    """float32 (rows, columns) from a float32[] field."""
    return vector(field, int(rows) * int(columns), name).reshape(int(rows), int(columns))


def enum_member(kind: type, value: int, name: str):  # noqa: ANN201 - an instance of kind
    """Member of an IntEnum with this value. Raises BadMessage naming the field, the value and the known ones."""
    try:
        return kind(value)
    except ValueError:
        raise BadMessage(f"{name} is {value}; expected one of {[int(k) for k in kind]}") from None


def features_to_message(features: Features, contract: str) -> msg.Features:
    """Features to rlt_ros/Features."""
    return msg.Features(
        header=header(features.stamp),
        id=int(features.id),
        episode=int(features.episode),
        step=int(features.step),
        contract=contract,
        z_rl=floats(features.z),
        proprio=floats(features.proprio),
        reference=floats(features.reference),
        horizon=int(features.reference.shape[0]),
        action_dim=int(features.reference.shape[1]),
    )


def features_from_message(m: msg.Features) -> Features:
    """rlt_ros/Features to Features."""
    return Features(
        id=m.id,
        stamp=stamp_of(m.header),
        episode=m.episode,
        step=m.step,
        z=vector(m.z_rl, None, "z_rl"),
        proprio=vector(m.proprio, None, "proprio"),
        reference=matrix(m.reference, m.horizon, m.action_dim, "reference"),
    )


def chunk_to_message(chunk: ActionChunk) -> msg.ActionChunk:
    """ActionChunk to rlt_ros/ActionChunk."""
    return msg.ActionChunk(
        header=header(chunk.stamp),
        features_id=int(chunk.features_id),
        actions=floats(chunk.actions),
        horizon=int(chunk.actions.shape[0]),
        action_dim=int(chunk.actions.shape[1]),
        driver=int(chunk.driver),
        phase_id=int(chunk.phase_id),
        weights_version=int(chunk.weights_version),
    )


def chunk_from_message(m: msg.ActionChunk) -> ActionChunk:
    """rlt_ros/ActionChunk to ActionChunk. Values are checked by the executor, which names the step and the source."""
    actions = np.frombuffer(m.actions, dtype=np.float32).copy()
    if actions.size != m.horizon * m.action_dim:
        raise BadMessage(f"actions has {actions.size} values; expected {m.horizon} x {m.action_dim}")
    return ActionChunk(
        features_id=m.features_id,
        stamp=stamp_of(m.header),
        actions=actions.reshape(m.horizon, m.action_dim),
        driver=enum_member(Driver, m.driver, "driver"),
        phase_id=m.phase_id,
        weights_version=m.weights_version,
    )


def mode_to_message(mode: PolicyMode) -> msg.PolicyMode:
    """PolicyMode to rlt_ros/PolicyMode."""
    return msg.PolicyMode(
        header=header(mode.stamp),
        observation_id=int(mode.observation_id),
        mode=int(mode.mode),
        phase=int(mode.phase),
        phase_id=int(mode.phase_id),
        episode=int(mode.episode),
        explore=bool(mode.explore),
        record=bool(mode.record),
        evaluation=bool(mode.evaluation),
        reset_seed=int(mode.reset_seed),
        reset_start=array("d", [float(value) for value in mode.reset_start]),
    )


def mode_from_message(m: msg.PolicyMode) -> PolicyMode:
    """rlt_ros/PolicyMode to PolicyMode."""
    start = tuple(m.reset_start)
    if start and not (len(start) == 7 and np.isfinite(start).all() and any(start[3:])):
        raise BadMessage(f"reset_start is {list(start)}; expected nothing or a position and a quaternion")
    return PolicyMode(
        observation_id=m.observation_id,
        stamp=stamp_of(m.header),
        mode=enum_member(Mode, m.mode, "mode"),
        phase=enum_member(Phase, m.phase, "phase"),
        phase_id=m.phase_id,
        episode=m.episode,
        explore=m.explore,
        record=m.record,
        evaluation=m.evaluation,
        reset_seed=m.reset_seed,
        reset_start=start,
    )


def event_to_message(event: EpisodeEvent) -> msg.EpisodeEvent:
    """EpisodeEvent to rlt_ros/EpisodeEvent."""
    return msg.EpisodeEvent(
        header=header(event.stamp),
        observation_id=int(event.observation_id),
        episode=int(event.episode),
        phase_id=int(event.phase_id),
        label=int(event.label),
    )


def event_from_message(m: msg.EpisodeEvent) -> EpisodeEvent:
    """rlt_ros/EpisodeEvent to EpisodeEvent."""
    label = enum_member(Label, m.label, "label")
    return EpisodeEvent(m.observation_id, stamp_of(m.header), m.episode, m.phase_id, label)


def step_to_message(step: ExecutedStep) -> msg.ExecutedStep:
    """ExecutedStep to rlt_ros/ExecutedStep."""
    return msg.ExecutedStep(
        header=header(step.stamp),
        observation_id=int(step.observation_id),
        episode=int(step.episode),
        step=int(step.step),
        driver=int(step.driver),
        action=floats(step.action),
        sent=floats(step.sent),
        phase_id=int(step.phase_id),
        chunk_id=int(step.chunk_id),
        chunk_index=int(step.chunk_index),
        remaining=int(step.remaining),
        commanded=bool(step.commanded),
        reset_done=bool(step.reset_done),
        reason=str(step.reason),
    )


def step_from_message(m: msg.ExecutedStep) -> ExecutedStep:
    """rlt_ros/ExecutedStep to ExecutedStep."""
    return ExecutedStep(
        observation_id=m.observation_id,
        stamp=stamp_of(m.header),
        episode=m.episode,
        step=m.step,
        driver=enum_member(Driver, m.driver, "driver"),
        action=vector(m.action, 7, "action"),
        sent=vector(m.sent, 7, "sent"),
        phase_id=m.phase_id,
        chunk_id=m.chunk_id,
        chunk_index=m.chunk_index,
        remaining=m.remaining,
        commanded=m.commanded,
        reset_done=m.reset_done,
        reason=m.reason,
    )


def transition_to_message(row: Transition, contract: str) -> msg.Transition:
    """Transition to rlt_ros/Transition."""
    return msg.Transition(
        header=header(row.features[0].stamp if row.features else 0),
        contract=contract,
        stream=row.stream,
        id=int(row.id),
        episode=int(row.episode),
        phase_id=int(row.phase_id),
        step=int(row.step),
        features_id=int(row.features_id),
        next_features_id=int(row.next_features_id),
        actions=floats(row.actions),
        drivers=bytes_field(row.drivers),
        rewards=floats(row.rewards),
        horizon=int(row.actions.shape[0]),
        action_dim=int(row.actions.shape[1]),
        valid_horizon=int(row.valid_horizon),
        terminated=bool(row.terminated),
        truncated=bool(row.truncated),
        label=int(row.label),
        steps_to_end=int(row.steps_to_end),
        weights_version=int(row.weights_version),
        last_of_phase=bool(row.last_of_phase),
        features=[features_to_message(f, contract) for f in row.features],
    )


def transition_from_message(m: msg.Transition) -> Transition:
    """rlt_ros/Transition to Transition. Meaning is checked by the learner's inbox, which can refuse a row by its id."""
    drivers = np.frombuffer(m.drivers, dtype=np.uint8).copy()
    if drivers.size != m.horizon:
        raise BadMessage(f"drivers has {drivers.size} values; expected horizon {m.horizon}")
    return Transition(
        id=m.id,
        stream=m.stream,
        episode=m.episode,
        phase_id=m.phase_id,
        step=m.step,
        features_id=m.features_id,
        next_features_id=m.next_features_id,
        actions=matrix(m.actions, m.horizon, m.action_dim, "actions"),
        drivers=drivers,
        rewards=vector(m.rewards, m.horizon, "rewards"),
        valid_horizon=m.valid_horizon,
        terminated=m.terminated,
        truncated=m.truncated,
        label=enum_member(Label, m.label, "label"),
        steps_to_end=m.steps_to_end,
        weights_version=m.weights_version,
        last_of_phase=m.last_of_phase,
        features=tuple(features_from_message(f) for f in m.features),
    )


def ack_to_message(ack: TransitionAck, stamp: int) -> msg.TransitionAck:
    """TransitionAck to rlt_ros/TransitionAck."""
    return msg.TransitionAck(
        header=header(stamp),
        stream=ack.stream,
        ack_id=int(ack.ack_id),
        rows=int(ack.rows),
        update_debt=int(ack.update_debt),
        weights_version=int(ack.weights_version),
    )


def ack_from_message(m: msg.TransitionAck) -> TransitionAck:
    """rlt_ros/TransitionAck to TransitionAck."""
    return TransitionAck(m.stream, m.ack_id, m.rows, m.update_debt, m.weights_version)


def weights_to_message(weights: PolicyWeights, stamp: int) -> msg.PolicyWeights:
    """PolicyWeights to rlt_ros/PolicyWeights."""
    return msg.PolicyWeights(
        header=header(stamp),
        version=int(weights.version),
        contract=weights.contract,
        checksum=weights.checksum,
        gate_open=bool(weights.gate_open),
        gate_reason=weights.gate_reason,
        data=bytes_field(weights.data),
    )


def weights_from_message(m: msg.PolicyWeights) -> PolicyWeights:
    """rlt_ros/PolicyWeights to PolicyWeights."""
    return PolicyWeights(m.version, m.contract, m.checksum, m.gate_open, m.gate_reason, bytes(m.data))


def learner_stats(stats: Any, stamp: int, newest: Mapping[str, int] = MappingProxyType({})) -> msg.LearnerStats:
    """rl.stats.LearnerStats to rlt_ros/LearnerStats; a scalar that nothing has measured yet is 0.

    newest: newest stream of each robot -> rows of it that are safe on disk.
    """
    values = {name: _finite(value) for name, value in vars(stats).items()}
    receipt = {"streams": list(newest), "stream_rows": array("Q", newest.values())}
    return msg.LearnerStats(header=header(stamp), **values, **receipt)


def _finite(value: Any) -> Any:
    # Plots and older rclpy choke on NaN.
    if isinstance(value, tuple):
        return array("d", [_finite(number) for number in value])
    return 0.0 if isinstance(value, float) and not np.isfinite(value) else value
