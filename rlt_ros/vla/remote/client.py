"""A VLA that another machine runs: `rlt serve-vla` there, this here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlt_ros.strict import build
from rlt_ros.tensor import torch
from rlt_ros.vla.contract import TokenKind, VLAInput, VLAOutput, VLAUnavailable
from rlt_ros.vla.remote import pictures
from rlt_ros.vla.remote.config import RemoteConfig
from rlt_ros.vla.remote.link import Link
from rlt_ros.vla.remote.secret import read_secret
from rlt_ros.vla.remote.wire import ANSWER, LARGEST_BATCH, ProtocolError, array


class RemoteVLA:
    """A VLA (`vla.contract`) on a server. Tensors are on the processor; identity and sizes are the server's.

    Raises VLAUnavailable whenever the server does not answer in time, and connects again by itself.
    """

    backend = "remote"

    def __init__(self, config: RemoteConfig) -> None:
        """Wait for the server. Raises VLAUnavailable if it does not come, VLARefused if it is not the right one."""
        self._link = Link(config, read_secret(config.token_file))
        terms = self._link.terms()
        self.identity, self.cameras, self.image_size = terms.identity, terms.cameras, terms.image_size
        self.proprio_dim, self.horizon = terms.proprio_dim, terms.horizon
        self.action_dim, self.width = terms.action_dim, terms.width
        self._lengths: dict[str, int] = {}  # by instruction, in tokens

    def token_kinds(self, instruction: str) -> tuple[TokenKind, ...]:
        """Kinds, asked of the server."""
        return _kinds(self._link.ask("kinds", "kinds", instruction=instruction))

    def infer(self, batch: VLAInput, seeds: Sequence[int]) -> VLAOutput:
        """Tokens and reference; see `vla.contract.VLA.infer`."""
        batch.check(self.cameras, self.image_size, self.proprio_dim)
        batch.check_seeds(seeds)
        each = self._at_once(batch)
        parts = [slice(start, start + each) for start in range(0, max(1, len(batch)), each)]
        return _joined([self._ask(batch.part(rows), seeds[rows]) for rows in parts])

    def save(self, folder: Path) -> dict[str, Any]:
        """Nothing is written: the settings say where the server is and which VLA it must serve."""
        return asdict(replace(self._link.config, identity=self.identity))

    def close(self) -> None:
        """Leave the server."""
        self._link.close()

    def _at_once(self, batch: VLAInput) -> int:
        """Observations in a question, so that neither it nor its answer becomes too large."""
        if len(batch) <= 1:
            return 1
        if batch.instruction not in self._lengths:
            self._lengths[batch.instruction] = len(self.token_kinds(batch.instruction))
        one = 4 * self.width * self._lengths[batch.instruction]
        return max(1, min(LARGEST_BATCH, ANSWER // one))

    def _ask(self, batch: VLAInput, seeds: Sequence[int]) -> VLAOutput:
        reply = self._link.ask(
            "infer",
            "output",
            images={name: pictures.encode(batch.images[name], self._link.config.images) for name in self.cameras},
            proprio=batch.proprio,
            state=batch.state,
            instruction=batch.instruction,
            seeds=np.array(seeds, dtype=np.uint64),
        )
        try:
            return self._output(reply, len(batch))
        except ProtocolError as error:
            raise VLAUnavailable(f"{self._link.config.url}: {error}") from error

    def _output(self, reply: Mapping[str, Any], n: int) -> VLAOutput:
        kinds = _kinds(reply)
        tokens = array(reply, "tokens", "float32", (n, len(kinds), self.width))
        mask = array(reply, "mask", "bool", (n, len(kinds)))
        reference = array(reply, "reference", "float32", (n, self.horizon, self.action_dim))
        return VLAOutput(_tensor(tokens), _tensor(mask), kinds, _tensor(reference))


def load(settings: Mapping[str, Any], folder: Path, where: str, device: str = "cpu") -> RemoteVLA:
    """A VLA from its settings; a relative token_file starts from the folder. The device is the server's affair."""
    config = build(RemoteConfig, settings, where)
    if config.token_file:
        config = replace(config, token_file=str(folder / config.token_file))
    return RemoteVLA(config)


def _kinds(reply: Mapping[str, Any]) -> tuple[TokenKind, ...]:
    try:
        return tuple(TokenKind(int(n)) for n in array(reply, "kinds", "uint8", (None,)))
    except ValueError as error:
        raise VLAUnavailable(f"kinds: {error}") from error


def _joined(parts: Sequence[VLAOutput]) -> VLAOutput:
    if len(parts) == 1:
        return parts[0]
    tensors = (torch.cat([getattr(part, name) for part in parts]) for name in ("tokens", "mask", "reference"))
    tokens, mask, reference = tensors
    return VLAOutput(tokens, mask, parts[0].kinds, reference)


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.copy())  # what came over the network is read-only
