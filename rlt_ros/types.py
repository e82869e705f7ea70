"""The vocabulary that every part shares: what is observed, proposed, executed, learned from.

Shapes use these letters: C chunk length, H horizon of the VLA (H >= C), A action dimension (7),
P proprioception dimension (19), Z token dimension. Actions are normalised tool-centre-point deltas
per control step, ``[dx dy dz rx ry rz gripper]``, each in [-1, 1] (`robot.action_space`).
Stamps are nanoseconds of ROS time. An observation's id is unique within a run and starts at 1; 0 means none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

ACTION_NAMES = ("dx", "dy", "dz", "rx", "ry", "rz", "gripper")
GRIPPER = 6
"""Index of the gripper in an action: -1 fully closed, +1 fully open, a held state and not a trigger."""

# Pose relative to the reference pose of the robot config (rotation as a vector: it cannot wrap near zero), the rest
# along the base axes.
PROPRIO_NAMES = (
    "gripper_width",
    "x", "y", "z", "rx", "ry", "rz",
    "vx", "vy", "vz", "wx", "wy", "wz",
    "fx", "fy", "fz",
    "tx", "ty", "tz",
)  # fmt: skip


class Driver(IntEnum):
    """Who drove a control step."""

    VLA = 0
    ACTOR = 1
    HUMAN = 2
    HOLD = 3
    RESET = 4


class Mode(IntEnum):
    """What the operator asks for; VLA and RL change hands at the next chunk boundary, the others at once."""

    HOLD = 0
    VLA = 1
    RL = 2
    HUMAN = 3
    RESET = 4


class Phase(IntEnum):
    """Part of an episode. Only CRITICAL steps are practised and stored."""

    IDLE = 0
    APPROACH = 1
    CRITICAL = 2
    LABELLED = 3


class Label(IntEnum):
    """How a critical phase ended. SUCCESS and FAILURE terminate, ABORT truncates, DISCARD leaves nothing behind."""

    NONE = 0
    SUCCESS = 1
    FAILURE = 2
    DISCARD = 3
    ABORT = 4


@dataclass(frozen=True)
class Observation:
    """What the policy sees at one control step.

    images: camera name to uint8 RGB (h, w, 3) at policy resolution. proprio: float32 (19,), SI units, `PROPRIO_NAMES`.
    episode and step: counted by the executor; step 0 is the first one after a reset.
    """

    id: int
    stamp: int
    episode: int
    step: int
    images: dict[str, np.ndarray]
    proprio: np.ndarray


@dataclass(frozen=True)
class Features:
    """What the agent sees of an observation, from one VLA pass.

    id, stamp, episode, step: of the observation. z: float32 (Z,). proprio: float32 (P,), normalised.
    reference: float32 (H, A), the VLA's chunk in the action space, clipped to +-0.98.
    """

    id: int
    stamp: int
    episode: int
    step: int
    z: np.ndarray
    proprio: np.ndarray
    reference: np.ndarray


@dataclass(frozen=True)
class ActionChunk:
    """Actions proposed for the steps that start at one observation.

    features_id: observation that they were computed from. actions: float32 (C, A). driver: VLA or ACTOR.
    phase_id: critical phase that the decision belongs to, 0 outside. weights_version: 0 without learned weights.
    """

    features_id: int
    stamp: int
    actions: np.ndarray
    driver: Driver
    phase_id: int
    weights_version: int


@dataclass(frozen=True)
class PolicyMode:
    """The operator's word for one observation, and the heartbeat of the operator.

    phase_id: running number of the critical phase, 0 outside. explore: held noise on the policy's actions.
    record: rows of this phase go to the learner. evaluation: nothing is learned from this episode.
    reset_seed: start state wanted from the next reset, negative for any. reset_start: x y z in m and quaternion x y z w
    in the base frame, about which the reset draws it; empty: about the start of the robot config.
    """

    observation_id: int
    stamp: int
    mode: Mode
    phase: Phase
    phase_id: int
    episode: int
    explore: bool
    record: bool
    evaluation: bool
    reset_seed: int = -1
    reset_start: tuple[float, ...] = ()


@dataclass(frozen=True)
class EpisodeEvent:
    """The end of a critical phase: observation_id is the observation that follows its last executed step."""

    observation_id: int
    stamp: int
    episode: int
    phase_id: int
    label: Label


@dataclass(frozen=True)
class ExecutedStep:
    """What was really done at one observation; one per observation, holds included.

    action: float32 (A,), what the driver of this step asked for, the gripper as it is held: what is learned from.
    sent: float32 (A,), recomputed from the command that left the safety module; differs where that limited it.
    chunk_id: features_id of the chunk that it came from (0 if none), chunk_index its row there. remaining: steps left
    in the queue after this one; 0 means that the next observation needs a decision. commanded: a command with this
    stamp went to the controller.
    reset_done: the next observation is the first of the next episode. reason: why it held, else empty.
    """

    observation_id: int
    stamp: int
    episode: int
    step: int
    driver: Driver
    action: np.ndarray
    sent: np.ndarray
    phase_id: int
    chunk_id: int = 0
    chunk_index: int = 0
    remaining: int = 0
    commanded: bool = True
    reset_done: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Transition:
    """One window of a critical phase: a row of the replay.

    actions: float32 (C, A), executed; drivers: uint8 (C,), `Driver`; rewards: float32 (C,). Entries at and beyond
    valid_horizon are zero and mean nothing. next_features_id: observation after the last valid step, 0 if terminated.
    steps_to_end: executed steps from the window's start to the end of the phase (Monte-Carlo return of a success:
    gamma ** (steps_to_end - 1)). last_of_phase: the phase has no further rows. features: those that no earlier row of
    the stream has carried. stream: run of ids of one actor, `stream_of` its robot.
    """

    id: int
    stream: str
    episode: int
    phase_id: int
    step: int
    features_id: int
    next_features_id: int
    actions: np.ndarray
    drivers: np.ndarray
    rewards: np.ndarray
    valid_horizon: int
    terminated: bool
    truncated: bool
    label: Label
    steps_to_end: int
    weights_version: int
    last_of_phase: bool = False
    features: tuple[Features, ...] = field(default=())


def stream_of(robot: str, run: str) -> str:
    """Name of the stream of an actor. robot: its namespace, without slashes at the ends; run: new at every start."""
    return f"{robot}/{run}"


def robot_of(stream: str) -> str:
    """The robot that a stream comes from, empty where its name does not say."""
    return stream.rpartition("/")[0]


@dataclass(frozen=True)
class TransitionAck:
    """The learner's receipt: every row of the stream up to ack_id is safe on disk.

    update_debt: updates that it could make now and has not made yet. weights_version: newest one published.
    """

    stream: str
    ack_id: int
    rows: int
    update_debt: int
    weights_version: int


@dataclass(frozen=True)
class PolicyWeights:
    """Weights for the actor: safetensors bytes, version, contract fingerprint, SHA-256; gate_open lets it drive."""

    version: int
    contract: str
    checksum: str
    gate_open: bool
    gate_reason: str
    data: bytes
