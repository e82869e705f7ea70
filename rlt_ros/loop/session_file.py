"""Where a session stands, on disk: a `teleop` node that was killed and started again goes on with it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rlt_ros.loop.conductor import Conductor
from rlt_ros.types import Phase


class SessionFile:
    """One small JSON file. launch: name of the launch that the session belongs to; what another one has left is not
    taken up.
    """

    def __init__(self, path: Path, launch: str) -> None:
        self._path, self._launch = path, launch
        self._written: tuple[int, Phase] | None = None

    def read(self) -> dict[str, Any] | None:
        """What this launch has written last, None if it has not. Raises ValueError on a file that is no such thing."""
        if not self._path.exists():
            return None
        try:
            content = json.loads(self._path.read_text())
            return content["state"] if content["launch"] == self._launch else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self._path}: no session can be taken up from it: {error!r}") from error

    def write(self, conductor: Conductor) -> None:
        """Write where a session stands when a critical phase has begun or ended. Raises OSError.

        It survives the process, not the machine: waiting for the disk would keep the operator's word back.
        """
        stands = (conductor.machine.phase_id, conductor.machine.phase)
        if stands == self._written:
            return
        aside = self._path.with_name(f".{self._path.name}.partial")
        aside.write_text(json.dumps({"launch": self._launch, "state": conductor.state()}))
        os.replace(aside, self._path)
        self._written = stands
