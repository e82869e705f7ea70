"""Which stages are done, for which inputs; a stage that began and never ended counts as half-finished."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def fingerprint(files: Iterable[Path], *texts: str) -> str:
    """SHA-256 over the names and contents of files, in sorted order, and over texts."""
    digest = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    for text in texts:
        digest.update(f"{len(text)} {text}\n".encode())
    return digest.hexdigest()


class Stamps:
    """One small file per stage in a folder: the fingerprint of its inputs, written when the stage has ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def done(self, stage: str, key: str) -> bool:
        """Whether the stage ended for these inputs."""
        return self._read(stage) == key

    def interrupted(self, stage: str) -> bool:
        """Whether the stage began and did not end."""
        return self._begun(stage).exists()

    def begin(self, stage: str) -> None:
        """Forget an earlier end; the stage is half-finished from here on."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._begun(stage).touch()
        self._stamp(stage).unlink(missing_ok=True)

    def end(self, stage: str, key: str) -> None:
        """Record that the stage is complete for these inputs."""
        self._stamp(stage).write_text(key)
        self._begun(stage).unlink(missing_ok=True)

    def _read(self, stage: str) -> str:
        try:
            return self._stamp(stage).read_text()
        except FileNotFoundError:
            return ""

    def _stamp(self, stage: str) -> Path:
        return self._folder / f"{stage}.done"

    def _begun(self, stage: str) -> Path:
        return self._folder / f"{stage}.begun"
