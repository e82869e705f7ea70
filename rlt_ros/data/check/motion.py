"""How far the arm went, and was asked to go, between two frames."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rlt_ros.data.check.limits import Limits
from rlt_ros.data.check.view import POSITION, ROTATION, EpisodeView
from rlt_ros.types import GRIPPER


def moved(view: EpisodeView, start: int, stop: int, limits: Limits) -> str:
    """What the state says of movement from frame `start` up to, but without, `stop`; empty if there was none."""
    if view.state is None:
        return ""
    if not view.has((*POSITION, *ROTATION)):
        return _ranges("the state's values", view.state.values, start, stop, limits) if not view.state.names else ""
    positions = view.state.of(POSITION)[start:stop]
    went = float(np.linalg.norm(positions - positions[0], axis=1).max())
    turned = float(turns(view.state.of(ROTATION)[start:stop], to_first=True).max())
    return _words("the arm goes {:.0f} mm and turns {:.2f} rad", went, turned, limits)


def asked(view: EpisodeView, start: int, stop: int, limits: Limits) -> str:
    """What the actions ask for from frame `start` up to, but without, `stop`; empty if that is to stay."""
    if view.action is None:
        return ""
    if not view.action.names:
        return _ranges("the actions", view.action.values, start, stop, limits)
    scale, actions = view.meaning.robot.action_scale, view.action.values[start:stop, :GRIPPER]
    path = np.linalg.norm(actions[:, :3], axis=1).sum() * scale.translation
    turn = np.linalg.norm(actions[:, 3:], axis=1).sum() * scale.rotation
    return _words("the actions ask for {:.0f} mm and {:.2f} rad", float(path), float(turn), limits)


def turns(vectors: np.ndarray, to_first: bool = False) -> np.ndarray:
    """Angles between rotations (T, 3), rad: to the one before (T - 1,), or to the first (T,)."""
    if len(vectors) < 2:
        return np.zeros(len(vectors) if to_first else 0)
    rotations = Rotation.from_rotvec(vectors)
    if to_first:
        return (rotations * rotations[0].inv()).magnitude()
    return (rotations[1:] * rotations[:-1].inv()).magnitude()


def _ranges(what: str, values: np.ndarray, start: int, stop: int, limits: Limits) -> str:
    """Half of the dimensions that ever change go through a good part of their range."""
    whole = np.ptp(values, axis=0)
    part = np.ptp(values[start:stop], axis=0)[whole > limits.moving]
    share = float(np.median(part / whole[whole > limits.moving])) if part.size else 0.0
    return f"{what} go through {share:.0%} of their range" if share > limits.frozen_share else ""


def _words(words: str, metres: float, radians: float, limits: Limits) -> str:
    still = metres <= limits.frozen_translation and radians <= limits.frozen_rotation
    return "" if still else words.format(metres * 1e3, radians)
