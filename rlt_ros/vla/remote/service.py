"""What a VLA server answers, without the network: a message in, a message out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from rlt_ros.vla.contract import VLA, VLAInput
from rlt_ros.vla.latency import Latency
from rlt_ros.vla.remote import pictures
from rlt_ros.vla.remote.wire import LARGEST_BATCH, ProtocolError, Terms, array, field, pack, unpack


class Service:
    """Answers questions about one VLA. Not for several threads at once."""

    def __init__(self, vla: VLA) -> None:
        self.vla, self.terms, self.latency = vla, Terms.of(vla), Latency()

    @property
    def largest_question(self) -> int:
        """Bytes of the largest message that a client can have to send; whoever has not said hello can send no more."""
        height, width = self.terms.image_size
        return LARGEST_BATCH * len(self.terms.cameras) * height * width * 3 * 5 // 4 + 2**20

    def warm_up(self) -> None:
        """One pass on made-up input: the first one of a model is slow, and a client would give up on it."""
        terms = self.terms
        images = {name: np.zeros((1, *terms.image_size, 3), np.uint8) for name in terms.cameras}
        proprio = np.zeros((1, terms.proprio_dim), np.float32)
        self.vla.infer(VLAInput(images, proprio, "go", proprio), [0])

    def welcome(self) -> bytes:
        """The VLA's contract."""
        return pack("welcome", **asdict(self.terms))

    def reply(self, data: bytes | str) -> bytes:
        """The answer to a client's message, an error in words included; never raises."""
        number = 0
        try:
            message = unpack(data)
            number = field(message, "id", int)
            return self._answer(message, number)
        except ValueError as error:
            return pack("error", id=number, code="input", text=str(error))
        except Exception as error:
            return pack("error", id=number, code="internal", text=f"{type(error).__name__}: {error}")

    def _answer(self, message: Mapping[str, Any], number: int) -> bytes:
        if message["type"] == "kinds":
            kinds = self.vla.token_kinds(field(message, "instruction", str))
            return pack("kinds", id=number, kinds=np.array(kinds, np.uint8))
        if message["type"] == "infer":
            return self._infer(message, number)
        raise ProtocolError(f"type: {message['type']!r}; known are infer and kinds")

    def _infer(self, message: Mapping[str, Any], number: int) -> bytes:
        batch, seeds = self._batch(message)
        started = time.perf_counter()
        out = self.vla.infer(batch, seeds)
        tokens, mask, reference = (x.cpu().numpy() for x in (out.tokens, out.mask, out.reference))
        seconds = self.latency.add(time.perf_counter() - started)
        kinds = np.array(out.kinds, np.uint8)
        content = {"tokens": tokens, "mask": mask, "kinds": kinds, "reference": reference, "ms": 1e3 * seconds}
        return pack("output", id=number, **content)

    def _batch(self, message: Mapping[str, Any]) -> tuple[VLAInput, list[int]]:
        terms = self.terms
        seeds = array(message, "seeds", "uint64", (None,)).tolist()
        n = len(seeds)
        if not 0 < n <= LARGEST_BATCH:
            raise ProtocolError(f"seeds: batch of {n}; expected 1 to {LARGEST_BATCH}")
        sent = field(message, "images", dict)
        if set(sent) != set(terms.cameras):
            raise ProtocolError(f"images: cameras {sorted(map(str, sent))}; the model has {sorted(terms.cameras)}")
        images = {name: pictures.decode(sent, name, n, terms.image_size) for name in terms.cameras}
        shape = (n, terms.proprio_dim)
        proprio = array(message, "proprio", "float32", shape).copy()
        state = None if message.get("state") is None else array(message, "state", "float32", shape).copy()
        return VLAInput(images, proprio, field(message, "instruction", str), state), seeds
