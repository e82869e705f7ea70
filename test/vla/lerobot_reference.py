"""Recorded answers of small LeRobot policies. To record them again, with a Python that has lerobot:

    PYTHONPATH=.:test/vla python test/vla/lerobot_reference.py

Weights come from sines and not from a generator, so that they are the same with every version of torch.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from lerobot_policies import KINDS, make_policy, small_sizes
from safetensors.torch import save_file
from vla_conformance import chunks, example

from rlt_ros.vla.backends import load_vla

REFERENCE = Path(__file__).with_suffix(".safetensors")
ABOUT = "recorded with lerobot 0.6.2 (7427f318), transformers 5.5.4, torch 2.11.0"


def answers(kind: str, folder: Path) -> dict[str, torch.Tensor]:
    """Tokens, mask, reference and loss of a policy of a kind with known weights, by name."""
    with small_sizes():
        path = make_policy(kind, folder / kind / "policy")
        vla = load_vla({"backend": "lerobot", "path": str(path)}, folder, kind)
    with torch.no_grad():
        for number, (_, parameter) in enumerate(sorted(vla.policy.named_parameters())):
            ramp = torch.arange(parameter.numel(), dtype=torch.float64).reshape(parameter.shape)
            parameter.copy_((0.2 * torch.sin(ramp * 0.7 + number)).float())
        batch = example(vla, 2)
        out = vla.infer(batch, [1, 2])
        loss = vla.loss(batch, *chunks(vla, 2), torch.Generator().manual_seed(1)).vla_loss
    tokens = torch.where(out.mask[..., None], out.tokens, 0.0)[:, ::5].contiguous()
    found = {"tokens": tokens, "mask": out.mask, "reference": out.reference, "loss": loss}
    return {f"{kind}.{name}": tensor for name, tensor in found.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    with TemporaryDirectory() as place:
        tensors = {name: tensor for kind in KINDS for name, tensor in answers(kind, Path(place)).items()}
    save_file(tensors, REFERENCE, {"about": ABOUT})
