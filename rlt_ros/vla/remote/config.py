"""Settings of a VLA on another machine."""

from __future__ import annotations

from dataclasses import dataclass

ENCODINGS = ("raw", "png", "jpeg")


@dataclass(frozen=True)
class RemoteConfig:
    """Where the server is and how long to wait for it."""

    url: str  # ws://host:port, or wss:// behind a proxy that adds TLS
    identity: str = ""  # of the VLA that it must serve; empty: whichever it serves
    token_file: str = ""  # file with the shared secret; empty: environment variable RLT_VLA_TOKEN, if set
    images: str = "raw"  # raw and png are exact, jpeg is not; compressing takes longer than a fast network does
    timeout: float = 2.0  # s, for the answer to one request; then there are no features and the arm holds
    connect_timeout: float = 2.0  # s, for a connection
    patience: float = 10.0  # s, to wait for the server at start

    def __post_init__(self) -> None:
        if not self.url.startswith(("ws://", "wss://")):
            raise ValueError(f"url is {self.url!r}; expected ws://host:port or wss://host:port")
        if self.images not in ENCODINGS:
            raise ValueError(f"images is {self.images!r}; known are {', '.join(ENCODINGS)}")
        if min(self.timeout, self.connect_timeout) <= 0.0:
            raise ValueError(f"timeout is {self.timeout}, connect_timeout {self.connect_timeout}; expected more than 0")
