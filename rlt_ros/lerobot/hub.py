"""The Hugging Face hub library; its absence is an error that names the pip extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    from huggingface_hub import ModelHubMixin, hf_hub_download
    from huggingface_hub.constants import CONFIG_NAME, SAFETENSORS_SINGLE_FILE
except ImportError as error:
    raise ImportError("huggingface_hub is missing: pip install 'rlt_ros[lerobot]'") from error

__all__ = ["CONFIG_NAME", "SAFETENSORS_SINGLE_FILE", "ModelHubMixin", "hub_file"]


def hub_file(model_id: str, name: str, **where: Any) -> Path:
    """A file of a local directory or of a repository on the hub; where: options of `hf_hub_download`.

    Raises FileNotFoundError where a local directory has none, the hub library's errors otherwise.
    """
    if not Path(model_id).is_dir():
        return Path(hf_hub_download(repo_id=model_id, filename=name, **where))
    path = Path(model_id) / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is missing")
    return path
