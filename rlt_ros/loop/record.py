"""What a run in one process leaves behind: the files that the learner node writes, in the same places."""

from __future__ import annotations

import logging
from pathlib import Path

from rlt_ros.loop.config import RecordConfig
from rlt_ros.loop.processes import Life
from rlt_ros.loop.run_log import RunLog
from rlt_ros.rl.checkpoint import CheckpointError, Saver
from rlt_ros.rl.journal import Journal
from rlt_ros.rl.learner import Learner
from rlt_ros.rl.metrics import Metrics
from rlt_ros.rl.origin import Origin, claim
from rlt_ros.rl.weights import write_policy_file
from rlt_ros.types import PolicyWeights, Transition

CONTROL_RATE = 20.0
"""Hz, the default of robot configs."""
_log = logging.getLogger(__name__)


def refuse_used(run_dir: Path) -> None:
    """Raises FileExistsError if the directory holds anything: rows of two runs must not mix."""
    if is_used(run_dir):
        raise FileExistsError(f"run directory {run_dir} exists already: choose another one")


def is_used(run_dir: Path) -> bool:
    """Whether a run directory holds anything."""
    return run_dir.exists() and any(run_dir.iterdir())


class Record:
    """Journal of the rows, numbered checkpoints, TensorBoard, the newest policy, episodes and their pictures in a new
    run directory.

    log: takes episodes and observations. rate: control steps per second. Raises FileExistsError as `refuse_used` does.
    """

    def __init__(
        self, run_dir: Path, learner: Learner, config: RecordConfig | None = None, rate: float = CONTROL_RATE
    ) -> None:
        refuse_used(run_dir)
        run_dir.mkdir(parents=True, exist_ok=True)
        self.run_dir, self._learner, config = run_dir, learner, config or RecordConfig()
        claim(run_dir / "transitions", Origin.of(learner))
        self._journal = Journal(run_dir / "transitions")
        self._metrics = Metrics(run_dir / "tensorboard", run_dir / "metrics.jsonl")
        self._saver = Saver(run_dir / "checkpoints", learner, config.save_every, config.keep)
        self.log = RunLog(run_dir, _log.warning, lambda observation: observation.images, rate)
        self._life = Life(run_dir, "fast", {})

    def rows(self, rows: list[Transition]) -> None:
        """Bring rows to the disk, before anything is learned from them."""
        for row in rows:
            self._journal.append(row)
        self._journal.flush()

    def weights(self, weights: PolicyWeights) -> None:
        """Write the newest policy."""
        write_policy_file(self.run_dir / "policy.safetensors", weights)

    def episode(self) -> None:
        """Write what an episode has changed: statistics, and a checkpoint if one is due."""
        stats = self._learner.stats()
        self._metrics.write(stats, self._learner.outcomes, self._learner.alarms)
        if self._saver.due:
            self._save_if_it_can()

    def close(self) -> None:
        """The last checkpoint, and everything closed. Raises CheckpointError if it cannot be written."""
        self.episode()
        self._saver.save()
        self._close("done")

    def abandon(self) -> None:
        """Close without another checkpoint: what is in the networks must not be used."""
        self._close("ended early; its last lines say why")

    def _close(self, how: str) -> None:
        self._journal.close()
        self._metrics.close()
        self.log.close()
        self._life.ended(how)

    def _save_if_it_can(self) -> None:
        try:
            self._saver.save()
        except CheckpointError as error:
            _log.warning("%s; training goes on", error)
