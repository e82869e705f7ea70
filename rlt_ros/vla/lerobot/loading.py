"""A LeRobot policy and its processors from a local directory, with every weight checked to be there."""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from rlt_ros.strict import ConfigError
from rlt_ros.tensor import nn, torch
from rlt_ros.vla.lerobot.config import LeRobotConfig
from rlt_ros.vla.lerobot.families import FAMILIES, Family
from rlt_ros.vla.weights import CheckpointError

CONFIG, WEIGHTS = "config.json", "model.safetensors"
IMAGES = "observation.images."


@dataclass(frozen=True)
class Loaded:
    """policy: LeRobot's `PreTrainedPolicy`, on its device. before, after: processors. cameras: name to image key."""

    policy: Any
    before: Any
    after: Any
    family: Family
    cameras: dict[str, str]


def load_policy(config: LeRobotConfig, where: str, device: str) -> Loaded:
    """Load; where: names the settings in errors.

    Raises CheckpointError where files are missing or do not fit, ConfigError where the settings do not fit the policy,
    ImportError naming the extra.
    """
    path = Path(config.path)
    for name in (CONFIG, WEIGHTS, "policy_preprocessor.json", "policy_postprocessor.json"):
        if not (path / name).is_file():
            raise CheckpointError(f"{path / name}: missing; expected a directory written by LeRobot's save_pretrained")
    _check_readable(path / WEIGHTS)
    settings = _policy_config(path)
    if settings.type not in FAMILIES:
        raise ConfigError(f"{where}: policy {settings.type!r} in {path}; known are {', '.join(FAMILIES)}")
    family = FAMILIES[settings.type]
    cameras = _cameras(config, settings, where)
    _adapt(settings, config, set(cameras.values()), device, where)
    policy = _policy(settings, path, family)
    check_loaded(policy, path / WEIGHTS)
    if settings.type == "smolvla":
        _cast_backbone(policy, path / WEIGHTS, config.precision)
    before, after = _processors(settings, path, config, device)
    return Loaded(policy, before, after, family, cameras)


def check_loaded(policy: nn.Module, path: Path) -> None:
    """Raise CheckpointError unless every tensor of a file is in the policy and every tensor of the policy in the file.

    The policies' own loaders go on with random weights when something fails, and only print it.
    """
    state = policy.state_dict()
    with safe_open(path, framework="pt") as file:
        names = set(file.keys())
        unknown = sorted(names - set(state))
        different = [name for name in sorted(names & set(state)) if not _same(file, name, state[name])]
    places = {state[name].data_ptr() for name in names & set(state)}
    missing = sorted(name for name in set(state) - names if state[name].data_ptr() not in places)
    if unknown or missing or different:
        raise CheckpointError(f"{path}: missing {missing[:5]}, unknown {unknown[:5]}, not loaded {different[:5]}")


def _check_readable(path: Path) -> None:
    try:
        with safe_open(path, framework="pt"):
            pass
    except SafetensorError as error:
        raise CheckpointError(f"{path}: not readable as safetensors: {error}") from error


def _same(file: Any, name: str, ours: torch.Tensor) -> bool:
    theirs = file.get_slice(name)
    if tuple(theirs.get_shape()) != tuple(ours.shape):
        return False
    # The first rows tell a loaded tensor from a random one; reading all of it again would double the time to load.
    part = theirs[:1] if ours.ndim else file.get_tensor(name)
    mine = ours[:1] if ours.ndim else ours
    return torch.equal(part.to(mine.dtype), mine.cpu())


def _policy_config(path: Path) -> Any:
    try:
        import lerobot.policies  # noqa: F401 (registers the policies' configurations)
        from lerobot.configs import PreTrainedConfig
    except ImportError as error:
        raise ImportError("lerobot is missing: pip install 'lerobot[pi,smolvla]' (Python 3.12 or newer)") from error
    return PreTrainedConfig.from_pretrained(path)


def _cameras(config: LeRobotConfig, settings: Any, where: str) -> dict[str, str]:
    keys = [key for key in settings.image_features if not key.startswith(f"{IMAGES}empty_camera_")]
    cameras = config.cameras or {key.removeprefix(IMAGES): key for key in keys}
    for name, key in cameras.items():
        if key not in keys:
            raise ConfigError(f"{where}.cameras.{name}: {key!r}; the policy has {', '.join(keys)}")
    # In the policy's order, which is that of its tokens.
    return dict(sorted(cameras.items(), key=lambda item: keys.index(item[1])))


def _adapt(settings: Any, config: LeRobotConfig, wanted: set[str], device: str, where: str) -> None:
    """Make the policy's own configuration what is wanted of it here."""
    if any(getattr(settings, name, False) for name in ("use_visual_memory", "use_proprioceptive_memory")):
        raise ConfigError(
            f"{where}: the policy remembers earlier observations, which the contract of a VLA does not give"
        )
    images = set(settings.image_features)
    settings.input_features = {k: v for k, v in settings.input_features.items() if k not in images or k in wanted}
    settings.device, settings.pretrained_path = device, Path(config.path)
    for name, value in {
        "empty_cameras": 0,
        "compile_model": False,
        "rtc_config": None,
        "load_vlm_weights": False,
    }.items():
        if hasattr(settings, name):
            setattr(settings, name, value)
    if config.precision and hasattr(settings, "dtype"):
        settings.dtype = config.precision
    if config.backbone:
        settings.vlm_model_name = config.backbone


def _policy(settings: Any, path: Path, family: Family) -> Any:
    from lerobot.policies.factory import get_policy_class

    try:
        said = StringIO()
        with redirect_stdout(said):
            policy = get_policy_class(settings.type).from_pretrained(path, config=settings)
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'lerobot[{family.extra}]'") from error
    except (OSError, RuntimeError) as error:
        raise CheckpointError(f"{path}: {error}") from error
    return policy.eval()


def _cast_backbone(policy: Any, path: Path, precision: str) -> None:
    """SmolVLA's configuration has no precision: its VLM runs in the one that it was saved in, or that is asked for."""
    vlm = policy.model.vlm_with_expert.vlm
    if not precision:
        with safe_open(path, framework="pt") as file:
            name = next(name for name in file.keys() if ".vlm." in name)
            precision = "bfloat16" if file.get_slice(name).get_dtype() == "BF16" else "float32"
    vlm.to(getattr(torch, precision))


def _processors(settings: Any, path: Path, config: LeRobotConfig, device: str) -> tuple[Any, Any]:
    from lerobot.policies.factory import make_pre_post_processors

    overrides: dict[str, dict[str, Any]] = {"device_processor": {"device": device}}
    if config.tokenizer:
        overrides["tokenizer_processor"] = {"tokenizer_name": config.tokenizer}
    return make_pre_post_processors(settings, pretrained_path=str(path), preprocessor_overrides=overrides)
