"""Which columns of a dataset are our cameras, state and actions: a small YAML file, or the dataset's own word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rlt_ros.data.lerobot.errors import DatasetError
from rlt_ros.data.lerobot.features import Feature
from rlt_ros.strict import ConfigError, build, load
from rlt_ros.types import ACTION_NAMES, PROPRIO_NAMES

QUATERNION = ("qx", "qy", "qz", "qw")
ROTATION = ("rx", "ry", "rz")
STATE, ACTION, IMAGES = "observation.state", "action", "observation.images."
SUCCESS, OFFSET = "next.success", "truth.offset"
"""Names of our own columns; SUCCESS is LeRobot's too."""


@dataclass(frozen=True)
class StateMapping:
    """Where proprioception comes from.

    elements: name of ours (or qx qy qz qw instead of rx ry rz) to "column/element". scale: factors to SI units, by the
    same names. absent: names that the dataset does not have; they become zero. pose: x..rz are relative to the robot's
    `reference` pose, or in its `base` frame. reference: where they are relative, that pose as x y z (m) and quaternion
    x y z w.
    """

    elements: dict[str, str]
    pose: str
    scale: dict[str, float] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    reference: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _one_of("pose", self.pose, ("reference", "base"))
        turned = bool(set(QUATERNION) & set(self.elements))
        if turned and self.pose != "base":
            raise ValueError(f"elements has a quaternion, pose is {self.pose!r}; expected pose 'base'")
        names = [n for n in PROPRIO_NAMES if n not in ROTATION] + list(QUATERNION) if turned else PROPRIO_NAMES
        given = [*self.elements, *self.absent]
        if sorted(given) != sorted(names):
            missing, unknown = sorted(set(names) - set(given)), sorted(set(given) - set(names))
            raise ValueError(f"elements and absent: missing {missing}, unknown or twice {unknown or given}")
        for name, factor in self.scale.items():
            if name not in self.elements or isinstance(factor, bool) or not isinstance(factor, (int, float)):
                raise ValueError(f"scale: {name}: {factor!r}; expected a number for a name in elements")
        if self.pose == "reference" and len(self.reference) != 7:
            raise ValueError(f"reference has {len(self.reference)} numbers; expected x y z and a quaternion x y z w")


@dataclass(frozen=True)
class ActionMapping:
    """Where actions come from.

    elements: "column/element" of three translations, the rotation and the gripper, in this order. convention: `delta`,
    our own (values in [-1, 1] of the scales); `metric_delta`, m and rad a step along the base axes; `pose`, the target
    in the base frame, m and rotation vector (rad) or quaternion x y z w. anchor: what a delta starts from. clip: cut
    off what is faster than the robot's action scale, instead of refusing it.
    """

    elements: tuple[str, ...]
    convention: str
    anchor: str = ""
    translation_scale: float = 0.0
    rotation_scale: float = 0.0
    clip: bool = False

    def __post_init__(self) -> None:
        _one_of("convention", self.convention, ("delta", "metric_delta", "pose"))
        allowed = (7, 8) if self.convention == "pose" else (7,)
        if len(self.elements) not in allowed:
            raise ValueError(f"elements has {len(self.elements)} entries; {self.convention!r} needs {allowed[-1]}")
        if self.convention != "pose":
            _one_of("anchor", self.anchor, ("last_target", "measured"))
        if self.convention == "delta" and min(self.translation_scale, self.rotation_scale) <= 0.0:
            scales = f"{self.translation_scale} and {self.rotation_scale}"
            raise ValueError(f"translation_scale and rotation_scale are {scales}; 'delta' needs both, m and rad a step")


@dataclass(frozen=True)
class GripperMapping:
    """Values of the action's gripper element: what means open, what closed."""

    open: float
    closed: float

    def __post_init__(self) -> None:
        if self.open == self.closed:
            raise ValueError(f"open and closed are both {self.open}")


@dataclass(frozen=True)
class DatasetMapping:
    """A dataset in our words. cameras: our name to key. success: column of which one true value makes an episode a
    success; empty: all are. offset: column of the true vector from tip to hole, for probes; empty: not known."""

    cameras: dict[str, str]
    state: StateMapping
    action: ActionMapping
    gripper: GripperMapping
    success: str = ""
    offset: str = ""


def load_mapping(path: Path | str) -> DatasetMapping:
    """Read a mapping from YAML. Raises ConfigError naming file, key and value."""
    return load(DatasetMapping, Path(path))


def own_mapping(features: Mapping[str, Feature], where: str) -> DatasetMapping:
    """The mapping of a dataset that this package wrote, out of its features; `where` names it in errors.

    Raises DatasetError for another one: it needs a file.
    """
    meanings = [(features.get(key, {}).get("info") or {}).get("rlt_ros") for key in (STATE, ACTION)]
    if None in meanings:
        raise DatasetError(f"{where}: not written by this package: its columns need a mapping file (docs/datasets.md)")
    state, action = (dict(meaning) for meaning in meanings)
    content = {
        "cameras": {key.removeprefix(IMAGES): key for key in features if key.startswith(IMAGES)},
        "state": state | {"elements": {name: f"{STATE}/{name}" for name in PROPRIO_NAMES}},
        "gripper": action.pop("gripper", None),
        "action": action | {"elements": [f"{ACTION}/{name}" for name in ACTION_NAMES]},
        "success": SUCCESS if SUCCESS in features else "",
        "offset": OFFSET if OFFSET in features else "",
    }
    try:
        return build(DatasetMapping, content, where)
    except ConfigError as error:
        raise DatasetError(str(error)) from error


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected {' or '.join(map(repr, known))}")
