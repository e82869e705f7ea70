"""Settings of a LeRobot policy as VLA backend; needs neither torch nor lerobot."""

from __future__ import annotations

from dataclasses import dataclass, field

from rlt_ros.types import PROPRIO_NAMES

PRECISIONS = ("", "float32", "bfloat16")


@dataclass(frozen=True)
class LeRobotConfig:
    """Where a policy is and what its inputs and outputs are here."""

    path: str  # directory that `save_pretrained` of policy and processors wrote; relative to the file that names it
    identity: str = ""  # of the VLA that must be there; empty: whichever is
    cameras: dict[str, str] = field(default_factory=dict)
    """Camera here to the policy's image key; empty: all of its keys, `observation.images.front` being `front`. Keys
    that are left out are dropped: fewer images, fewer tokens, and the same output as with those images masked."""
    image_size: tuple[int, int] = (0, 0)  # height and width of every image here; zeros: as the policy's features say
    proprio: tuple[str, ...] = ()  # names of `types.PROPRIO_NAMES` that a batch has, as in the contract; empty: all
    state: tuple[str, ...] = ()  # names among them that the policy's state consists of, in its order; empty: all
    horizon: int = 0  # H, steps of a chunk that are given on; 0: all of the policy's
    action_scale: tuple[float, ...] = ()  # the policy's units at |a| = 1 here, one a dimension; empty: 1
    precision: str = ""  # float32 or bfloat16, of the weights; empty: as saved
    lora: int = 0  # rank of adapters that fine-tuning changes instead of the weights; 0: none
    lora_targets: str = ""  # regular expression of module names that get adapters; empty: the policy's own choice
    tokenizer: str = ""  # directory of the tokenizer; empty: the one that the policy's processor names
    backbone: str = ""  # SmolVLA: directory with configuration and processor of its VLM; empty: the one that it names

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision is {self.precision!r}; known are {', '.join(PRECISIONS[1:])}")
        for field_name, known in (("proprio", PROPRIO_NAMES), ("state", self.given)):
            unknown = [name for name in getattr(self, field_name) if name not in known]
            if unknown:
                raise ValueError(f"{field_name}: {unknown[0]!r}; known are {', '.join(known)}")
        if not all(scale > 0.0 for scale in self.action_scale):
            raise ValueError(f"action_scale is {self.action_scale}; expected more than 0")

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the state's values in a batch."""
        return self.proprio or PROPRIO_NAMES
