"""What passes between a VLA server and its clients: msgpack maps, arrays with dtype and shape, checked on receipt.

Every message has a `type`. The server speaks first:

challenge  protocol, nonce                                  from the server, when a client has connected
hello      protocol, mac                                    HMAC of the nonce under the shared secret, empty without one
welcome    identity, backend, cameras, image_size, ...      the VLA's contract (`Terms`)
kinds      id, instruction                                  answered by kinds: id, kinds uint8 (M,)
infer      id, images, proprio, state, instruction, seeds   answered by output: id, tokens, mask, kinds, reference, ms
error      id, code, text                                   instead of an answer; code is one of `CODES`
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

try:
    import msgpack
except ImportError as error:
    raise ImportError("msgpack is missing: pip install 'rlt_ros[remote]'") from error

PROTOCOL = "rlt-vla/1"
LARGEST = 256 * 2**20
"""Bytes of the largest message: a batch of 8 passes with 1,024 tokens of width 2,048 is 64 MiB."""
LARGEST_BATCH = 64
"""Observations in a question."""
ANSWER = LARGEST // 8
"""Bytes of the tokens in an answer, about, that a client asks for at once: a time-out is for one answer, and a pass
over a dataset must not fail because 64 answers of pi0.5 are 484 MiB."""
DTYPES = ("bool", "uint8", "float32", "uint64")
CODES = ("input", "refused", "internal")
"""`input`: the batch does not fit, another may. `refused`: protocol or secret. `internal`: the server's own fault."""


class ProtocolError(ValueError):
    """A message that is not what it has to be; names the field and both values."""


@dataclass(frozen=True)
class Terms:
    """What a server says of its VLA; fields as in `vla.contract.VLA`."""

    identity: str
    backend: str
    cameras: tuple[str, ...]
    image_size: tuple[int, int]
    proprio_dim: int
    horizon: int
    action_dim: int
    width: int

    @staticmethod
    def of(source: Any) -> Terms:
        """The terms of a VLA."""
        return Terms(**{name: getattr(source, name) for name in Terms.__dataclass_fields__})

    @staticmethod
    def from_message(message: Mapping[str, Any]) -> Terms:
        """The terms in a welcome. Raises ProtocolError."""
        cameras = tuple(field(message, "cameras", list))
        size = tuple(field(message, "image_size", list))
        if not cameras or not all(isinstance(name, str) for name in cameras):
            raise ProtocolError(f"cameras: {cameras!r}; expected names")
        if len(size) != 2 or not all(isinstance(n, int) and n > 0 for n in size):
            raise ProtocolError(f"image_size: {size!r}; expected height and width")
        numbers = {name: field(message, name, int) for name in ("proprio_dim", "horizon", "action_dim", "width")}
        texts = {name: field(message, name, str) for name in ("identity", "backend")}
        return Terms(**texts, cameras=cameras, image_size=size, **numbers)


def pack(kind: str, **content: Any) -> bytes:
    """A message; numpy arrays may stand anywhere in it."""
    return msgpack.packb({"type": kind} | content, default=_encode, use_bin_type=True)


def unpack(data: bytes | str) -> dict[str, Any]:
    """The inverse, arrays still encoded (`array` decodes them). Raises ProtocolError."""
    if not isinstance(data, bytes):
        raise ProtocolError(f"message: {type(data).__name__}; expected bytes")
    try:
        message = msgpack.unpackb(data, raw=False, strict_map_key=True, max_ext_len=0, max_map_len=64)
    except Exception as error:  # msgpack raises half a dozen kinds, ValueError and its own
        raise ProtocolError(f"message: not msgpack: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError(f"message: {type(message).__name__} without a type")
    return message


def field(message: Mapping[str, Any], name: str, kind: type) -> Any:
    """A field of a type. Raises ProtocolError."""
    value = message.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ProtocolError(f"{name}: {type(value).__name__}; expected {kind.__name__}")
    return value


def array(message: Mapping[str, Any], name: str, dtype: str, shape: Sequence[int | None]) -> np.ndarray:
    """An array of a dtype and shape, None where any length will do; read-only. Raises ProtocolError."""
    content = field(message, name, dict)
    found, data = content.get("dtype"), content.get("data")
    sizes = content.get("shape")
    if found not in DTYPES or not isinstance(data, bytes) or not isinstance(sizes, list):
        raise ProtocolError(f"{name}: {found!r} {sizes!r}; expected an array of {dtype} {tuple(shape)}")
    fits = len(sizes) == len(shape) and all(
        isinstance(n, int) and n >= 0 and want in (None, n) for n, want in zip(sizes, shape)
    )
    if found != dtype or not fits:
        raise ProtocolError(f"{name}: {found} {tuple(sizes)}; expected {dtype} {tuple(shape)}")
    if len(data) != math.prod(sizes) * np.dtype(dtype).itemsize:
        raise ProtocolError(f"{name}: {len(data)} bytes for {dtype} {tuple(sizes)}")
    return np.frombuffer(data, _little(dtype)).reshape(sizes)


def _encode(value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray) or value.dtype.name not in DTYPES:
        raise TypeError(f"cannot be sent: {type(value).__name__} {getattr(value, 'dtype', '')}")
    data = np.ascontiguousarray(value, _little(value.dtype.name)).tobytes()
    return {"dtype": value.dtype.name, "shape": list(value.shape), "data": data}


def _little(dtype: str) -> np.dtype:
    return np.dtype(dtype).newbyteorder("<")
