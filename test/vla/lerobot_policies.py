"""Small, randomly initialised policies of LeRobot's real classes, written as LeRobot writes them; needs no network.

The pi policies fix the sizes of PaliGemma in their code; `small_sizes` shrinks them while a policy is made or loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from lerobot.configs import FeatureType, PolicyFeature
from lerobot.policies.factory import get_policy_class, make_policy_config, make_pre_post_processors
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rlt_ros.types import PROPRIO_NAMES

WIDTH, HEADS, IMAGE = 32, 8, 28
KINDS = ("pi05", "pi0", "smolvla")
SPECIAL = ["<pad>", "<bos>", "<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]
NAMED = dict(zip(("image_token", "fake_image_token", "global_image_token", "end_of_utterance_token"), SPECIAL[2:]))
FEATURES = {
    "input_features": {
        "observation.images.front": PolicyFeature(FeatureType.VISUAL, (3, IMAGE, IMAGE)),
        "observation.images.wrist": PolicyFeature(FeatureType.VISUAL, (3, IMAGE, IMAGE)),
        "observation.images.side": PolicyFeature(FeatureType.VISUAL, (3, IMAGE, IMAGE)),
    },
    "output_features": {"action": PolicyFeature(FeatureType.ACTION, (7,))},
}
SIZES = {"chunk_size": 12, "n_action_steps": 12, "max_action_dim": 8, "max_state_dim": 20, "device": "cpu"}


def make_policy(kind: str, path: Path, seed: int = 0, state: int = len(PROPRIO_NAMES), **settings: Any) -> Path:
    """Write a policy of a kind with its processors, tokenizer and statistics to a new directory.

    state: length of its state. settings: of the policy's configuration.
    """
    tokenizer = make_tokenizer(path.parent / "tokenizer")
    own = {"image_resolution": (IMAGE, IMAGE)} if kind != "smolvla" else _smolvla(path.parent / "backbone", tokenizer)
    features = {name: dict(content) for name, content in FEATURES.items()}
    features["input_features"]["observation.state"] = PolicyFeature(FeatureType.STATE, (state,))
    config = make_policy_config(kind, **SIZES, **own, **features, **settings)
    with small_sizes(), torch.random.fork_rng():
        torch.manual_seed(seed)
        policy = get_policy_class(kind)(config).eval()
        for parameter in policy.parameters():  # zeros at initialisation would hide what is behind them
            if parameter.abs().max() == 0:
                torch.nn.init.normal_(parameter, std=0.05)
    policy.save_pretrained(path)
    with patch("transformers.AutoTokenizer.from_pretrained", lambda name: _load(tokenizer)):
        before, after = make_pre_post_processors(config, dataset_stats=statistics(state))
    before.save_pretrained(path, config_filename="policy_preprocessor.json")
    after.save_pretrained(path, config_filename="policy_postprocessor.json")
    return path


def statistics(state: int) -> dict[str, dict[str, torch.Tensor]]:
    """Made up, and such that forgetting them would show: the state has an offset, actions are small."""
    return {"observation.state": _moments(state, 0.2, 1.0), "action": _moments(7, 0.05, 0.1)}


def _moments(size: int, mean: float, spread: float) -> dict[str, torch.Tensor]:
    ramp = torch.linspace(0.5, 1.5, size)
    mean, std = mean * ramp, spread * ramp
    ends = {"min": mean - 3 * std, "max": mean + 3 * std, "q01": mean - 2 * std, "q99": mean + 2 * std}
    return {"mean": mean, "std": std, **ends}


def make_tokenizer(path: Path) -> Path:
    """A tokenizer of single bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(SPECIAL + alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=SPECIAL[0], bos_token=SPECIAL[1], extra_special_tokens=NAMED
    )
    fast.save_pretrained(path)
    return path


def _load(path: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast.from_pretrained(path)


@contextmanager
def small_sizes() -> Iterator[None]:
    """Shrink PaliGemma and the action expert of pi0 and pi0.5."""
    with ExitStack() as stack:
        for name in ("pi0", "pi05"):
            module = f"lerobot.policies.{name}.modeling_{name}"
            real = __import__(module, fromlist=["x"])
            change = lambda attribute, value, module=module: stack.enter_context(patch(f"{module}.{attribute}", value))  # noqa: E731
            change("get_gemma_config", lambda _variant, real=real: real.GemmaConfig(WIDTH, 2, 64, HEADS, 1, 8))
            for part in ("PaliGemmaForConditionalGenerationWithPiGemma", "PiGemmaForCausalLM"):
                change(part, _shrunk(getattr(real, part)))
        yield


def _shrunk(real: type) -> Callable[..., Any]:
    def make(config: Any) -> Any:
        text = getattr(config, "text_config", config)
        text.vocab_size = len(SPECIAL) + 256
        if hasattr(config, "vision_config"):
            config.image_token_id = SPECIAL.index("<image>")
            vision = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
            for key, value in (vision | {"patch_size": 14, "projection_dim": WIDTH}).items():
                setattr(config.vision_config, key, value)
        return real(config=config)

    return make


def _smolvla(path: Path, tokenizer: Path) -> dict[str, Any]:
    """Configuration and processor of a small SmolVLM in a directory, and the settings that name it."""
    from transformers import SmolVLMConfig, SmolVLMImageProcessor, SmolVLMProcessor, SmolVLMVideoProcessor

    text = {
        "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": len(SPECIAL) + 256,
        "pad_token_id": 0,
    }  # fmt: skip
    vision = {
        "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "image_size": IMAGE, "patch_size": 7,
    }  # fmt: skip
    config = SmolVLMConfig(text_config=text, vision_config=vision, scale_factor=2, image_token_id=2, pad_token_id=0)
    config.save_pretrained(path)
    SmolVLMProcessor(SmolVLMImageProcessor(), _load(tokenizer), SmolVLMVideoProcessor()).save_pretrained(path)
    return {
        "vlm_model_name": str(path), "resize_imgs_with_padding": (IMAGE, IMAGE), "num_vlm_layers": 2,
        "load_vlm_weights": False,
    }  # fmt: skip
