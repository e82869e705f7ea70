"""A LeRobot policy's identity, adapters, and how a trained one is written: as a plain policy directory."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rlt_ros.tensor import Tensor, torch
from rlt_ros.vla.identity import identity
from rlt_ros.vla.lerobot.loading import Loaded

NO_PART = (
    "device", "pretrained_path", "pretrained_revision", "use_peft", "use_amp", "push_to_hub", "repo_id", "private",
    "tags", "license", "compile_model", "compile_mode", "gradient_checkpointing", "vlm_model_name", "load_vlm_weights",
    "freeze_vision_encoder", "train_expert_only", "train_state_proj", "rtc_config",
)  # fmt: skip
"""Settings of a policy that do not change what it answers."""


def policy_identity(loaded: Loaded, terms: dict[str, Any]) -> str:
    """SHA-256 of terms, configuration, processors and weights; the same when it was written and loaded again."""
    settings = dataclasses.asdict(loaded.policy.config)
    kept = {k: v for k, v in settings.items() if k not in NO_PART and not k.startswith(("optimizer_", "scheduler_"))}
    numbers = merged(loaded.policy)
    for pipeline, name in ((loaded.before, "before"), (loaded.after, "after")):
        for i, step in enumerate(pipeline.steps):
            kept[f"{name}.{i}"] = [type(step).__name__, _settings(step)]
            numbers |= {f"{name}.{i}.{key}": value for key, value in step.state_dict().items()}
    return identity(_plain({"policy": kept, "terms": terms}), numbers)


def merged(policy: Any) -> dict[str, Tensor]:
    """The policy's tensors with adapters added to the weights that they belong to."""
    state = policy.state_dict()
    plain = {n.replace(".base_layer.", "."): t for n, t in state.items() if ".lora_" not in n}
    for name, module in policy.named_modules():
        if hasattr(module, "get_delta_weight"):
            weight = plain[f"{name}.weight"]
            plain[f"{name}.weight"] = weight + sum(module.get_delta_weight(a) for a in module.active_adapters).to(
                weight
            )
    return plain


def add_adapters(loaded: Loaded, rank: int, targets: str) -> None:
    """Put LoRA adapters into the policy; only they are trained. Raises ImportError naming the extra."""
    wanted: dict[str, Any] = {"method_type": "LORA", "r": rank} | ({"target_modules": targets} if targets else {})
    try:
        loaded.policy.wrap_with_peft(peft_cli_overrides=wanted)
    except ImportError as error:
        raise ImportError("peft is missing: pip install 'lerobot[peft]'") from error


def save_policy(loaded: Loaded, path: Path) -> None:
    """Write a directory that LeRobot and this backend load: adapters merged, processors beside the weights."""
    from huggingface_hub import save_torch_state_dict

    path.mkdir()
    loaded.policy.config._save_pretrained(path)
    state = {name: tensor.contiguous() for name, tensor in merged(loaded.policy).items()}
    save_torch_state_dict(state, str(path), max_shard_size="1TB")
    loaded.before.save_pretrained(path, config_filename="policy_preprocessor.json")
    loaded.after.save_pretrained(path, config_filename="policy_postprocessor.json")


def _settings(step: Any) -> dict[str, Any]:
    left_out = ("device", "tokenizer_name", "float_dtype")
    return {key: value for key, value in step.get_config().items() if key not in left_out}


def _plain(value: Any) -> Any:
    """Only what JSON has, and in one way: a configuration that was read again has lists for tuples."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return value if isinstance(value, (bool, int, float, type(None))) else str(value)
