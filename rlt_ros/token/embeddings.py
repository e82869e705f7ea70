"""Token embeddings of all frames under a frozen VLA: in memory, or on disk with the name of everything they depend on.

identity.json              what they were made from, sizes, token kinds
tokens-00000.safetensors   "tokens" (n, M, D) and "mask" bool (n, M) of the first n frames, then the next ones
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from rlt_ros.data.contract import compare
from rlt_ros.files import remove, sync, written_aside
from rlt_ros.tensor import Tensor, torch
from rlt_ros.token.corpus import Corpus
from rlt_ros.vla.contract import VLA, TokenKind, VLAUnavailable

FORMAT = 1
IDENTITY = "identity.json"
FILE_BYTES = 2**28
"""Size of a file of tokens, about: read by mapping, so that training needs no more memory than the disk cache has."""
BATCH = 64
"""Frames in one pass of the VLA."""
PATIENCE, AGAIN = 120.0, 0.5
"""Seconds for which a VLA on another machine may be away before hours of passes are given up, and between attempts."""

Part = tuple[Tensor, Tensor]
"""Tokens (n, M, D) and mask bool (n, M) of consecutive frames."""


class EmbeddingsError(ValueError):
    """A directory of embeddings that cannot be used; names it and what is wrong."""


class Embeddings(Protocol):
    """Tokens of N frames."""

    @property
    def kinds(self) -> tuple[TokenKind, ...]:
        """Kind of each of the M tokens."""

    def __len__(self) -> int:
        """N."""

    def of(self, rows: Tensor) -> Part:
        """Tokens float32 (n, M, D) and mask (n, M) of frames, int64 (n,)."""


@dataclass(frozen=True)
class InMemory:
    """Tokens (N, M, D), mask bool (N, M)."""

    tokens: Tensor
    mask: Tensor
    kinds: tuple[TokenKind, ...]

    def __len__(self) -> int:
        return len(self.tokens)

    def of(self, rows: Tensor) -> Part:
        """See `Embeddings`."""
        return self.tokens[rows], self.mask[rows]


class OnDisk:
    """A directory that `write` made; its files are mapped, not read. Raises EmbeddingsError on a damaged one."""

    def __init__(self, path: Path) -> None:
        content = read_identity(path)
        self.kinds = tuple(TokenKind[kind] for kind in content["kinds"])
        self._size = content["frames"]
        files = sorted(path.glob("tokens-*.safetensors"))
        try:
            self._parts = [_mapped(file) for file in files]
        except (OSError, SafetensorError) as error:
            raise EmbeddingsError(f"{path}: cannot be read: {error}") from error
        found = sum(len(tokens) for tokens, _ in self._parts)
        if found != self._size:
            raise EmbeddingsError(f"{path}: {found} frames in its files; {IDENTITY} says {self._size}")
        self._each = len(self._parts[0][0])

    def __len__(self) -> int:
        return self._size

    def of(self, rows: Tensor) -> Part:
        """See `Embeddings`."""
        found = [self._row(int(row)) for row in rows]
        return torch.stack([tokens for tokens, _ in found]).float(), torch.stack([mask for _, mask in found])

    def _row(self, row: int) -> Part:
        tokens, mask = self._parts[row // self._each]
        return tokens[row % self._each], mask[row % self._each]


def embedding_identity(vla: VLA, corpus: Corpus, instruction: str, dtype: str) -> dict[str, Any]:
    """Everything that embeddings depend on, JSON-ready (method.md C.6 no. 47)."""
    return {
        "format": FORMAT,
        "vla": vla.identity,
        "cameras": list(vla.cameras),
        "image_size": list(vla.image_size),
        "instruction": instruction,
        "kinds": [TokenKind(kind).name for kind in vla.token_kinds(instruction)],
        "state": list(corpus.norm.names),
        "norm_hash": corpus.norm.hash,
        "frames": len(corpus),
        "data": corpus.identity,
        "dtype": dtype,
    }


def passes(
    vla: VLA, corpus: Corpus, instruction: str, after: Callable[[int], None] = lambda done: None
) -> Iterator[Part]:
    """Tokens and mask of all frames, in their order, float32, on the processor; after: is told how many are done.

    Raises VLAUnavailable where a VLA on another machine stays away.
    """
    for start in range(0, len(corpus), BATCH):
        batch = corpus.batch(slice(start, start + BATCH), instruction)
        with torch.no_grad():
            tokens, mask = _patiently(vla, batch)
        yield tokens.float().cpu(), mask.cpu()
        after(min(start + BATCH, len(corpus)))


def in_memory(vla: VLA, parts: Iterator[Part], instruction: str) -> InMemory:
    """Keep parts in memory."""
    tokens, masks = zip(*parts)
    return InMemory(torch.cat(tokens), torch.cat(masks), tuple(vla.token_kinds(instruction)))


def write(path: Path, identity: Mapping[str, Any], parts: Iterator[Part]) -> None:
    """Write a new directory, whole or not at all.

    Raises FileExistsError if there is one, EmbeddingsError if the disk refuses.
    """
    with written_aside(path) as folder:
        folder.mkdir()
        try:
            _write_into(folder, identity, parts)
        except (OSError, SafetensorError) as error:
            raise EmbeddingsError(f"{path} is not written: {error}") from error


def rewrite(path: Path, identity: Mapping[str, Any], parts: Iterator[Part]) -> None:
    """Write a directory in the place of an older one, which stays until the new one is whole.

    Raises EmbeddingsError where something else has the path.
    """
    if path.exists():
        read_identity(path)
    fresh = path.with_name(f"{path.name}.new")
    remove(fresh)
    write(fresh, identity, parts)
    remove(path)
    fresh.rename(path)
    sync(path.parent)


def check(path: Path, identity: Mapping[str, Any]) -> None:
    """Raise ContractMismatch at the first thing from which the embeddings there were made differently."""
    found = read_identity(path)
    for field, wanted in identity.items():
        compare(f"{path}: {field} (`rlt cache` makes it anew)", wanted, found.get(field))


def read_identity(path: Path) -> dict[str, Any]:
    """What a directory of embeddings was made from. Raises EmbeddingsError if it is none."""
    try:
        content = json.loads((path / IDENTITY).read_text())
    except (OSError, ValueError) as error:
        raise EmbeddingsError(f"{path}: not a directory of token embeddings: {error}") from error
    missing = sorted({"format", "frames", "kinds", "dtype"} - set(content))
    if missing:
        raise EmbeddingsError(f"{path / IDENTITY}: missing key {missing[0]!r}")
    return content


def _write_into(folder: Path, identity: Mapping[str, Any], parts: Iterator[Part]) -> None:
    for number, (tokens, mask) in enumerate(_files(parts, getattr(torch, identity["dtype"]))):
        content = {"tokens": tokens.contiguous(), "mask": mask.contiguous()}
        save_file(content, folder / f"tokens-{number:05d}.safetensors")
    (folder / IDENTITY).write_text(json.dumps(dict(identity), indent=1) + "\n")


def _patiently(vla: VLA, batch: Any) -> Part:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _embedded(vla, batch)
        except VLAUnavailable:
            if time.monotonic() >= until:
                raise
        time.sleep(AGAIN)


def _embedded(vla: VLA, batch: Any) -> Part:
    # Some backends give tokens without an action chunk, which Stage 1 does not need.
    embed = getattr(vla, "embed", None)
    if embed is not None:
        return embed(batch)
    out = vla.infer(batch, [0] * len(batch))
    return out.tokens, out.mask


def _files(parts: Iterator[Part], dtype: torch.dtype) -> Iterator[Part]:
    """Parts put together to files of equal numbers of frames, the last one's aside."""
    waiting: list[Part] = []
    each = 0
    for tokens, mask in parts:
        each = each or max(1, FILE_BYTES // max(1, tokens[0].numel() * dtype.itemsize))
        waiting.append((tokens.to(dtype), mask))
        while sum(len(mask) for _, mask in waiting) >= each:
            tokens, mask = _joined(waiting)
            yield tokens[:each], mask[:each]
            waiting = [(tokens[each:], mask[each:])]
    tokens, mask = _joined(waiting)
    if len(tokens):
        yield tokens, mask


def _joined(parts: Sequence[Part]) -> Part:
    return torch.cat([tokens for tokens, _ in parts]), torch.cat([mask for _, mask in parts])


def _mapped(file: Path) -> Part:
    with safe_open(file, framework="pt") as content:
        return content.get_tensor("tokens"), content.get_tensor("mask")
