"""What a run of Stage 1 leaves while it trains: lines, TensorBoard, snapshots to go on from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rlt_ros.token.config import RunConfig
from rlt_ros.token.processes import Processes, Single
from rlt_ros.token.progress import Progress
from rlt_ros.token.snapshots import Snapshots
from rlt_ros.token.training import Training
from rlt_ros.token.watch import Watch

Show = Callable[[str], None]


class Run:
    """Follows trainings; only the first process prints and writes.

    folder: of the run, None: nothing is written and nothing can be gone on with. recipe: JSON-ready, what must not
    change between a run and the one that goes on with it.
    """

    def __init__(
        self,
        folder: Path | None = None,
        config: RunConfig | None = None,
        recipe: Mapping[str, Any] | None = None,
        processes: Processes | None = None,
        show: Show = lambda line: print(line, flush=True),
    ) -> None:
        self.processes, self.config = processes or Single(), config or RunConfig()
        self._first = self.processes.rank == 0
        self._show: Show = show if self._first else lambda line: None
        self._recipe = dict(recipe or {})
        self._snapshots = Snapshots(folder / "snapshots", self._recipe, self.config.keep) if folder else None
        self._curves = Curves(folder / "tensorboard") if folder and self.config.tensorboard and self._first else None

    @property
    def resumable(self) -> bool:
        """Whether snapshots are written and read."""
        return self._snapshots is not None

    @property
    def resumed(self) -> bool:
        """Whether there is a snapshot to go on with."""
        return self._snapshots is not None and bool(self._snapshots.all())

    def bind(self, **made_from: object) -> None:
        """Add to the recipe what is known only now, such as the hash of the demonstrations."""
        self._recipe |= made_from

    def say(self, line: str) -> None:
        """Print a line that begins with `stage1: `."""
        self._show(f"stage1: {line}")

    def follow(self, training: Training) -> Following:
        """Start to follow a training; it goes on from its newest snapshot if there is one."""
        return Following(self, training)

    def progress(self, stage: str, total: int, start: int = 0) -> Progress:
        """Progress lines of this run."""
        return Progress(stage, total, show=self._show, start=start)

    def close(self) -> None:
        """Flush the curves."""
        if self._curves:
            self._curves.close()

    def snapshot(self, training: Training, values: Mapping[str, Any]) -> None:
        """Write a snapshot if this run does; every process has to ask for it."""
        if self._snapshots is None or not self.config.save_every:
            return
        tensors = training.tensors()
        if self._first:
            self._snapshots.save(training.objective.stage, training.step, tensors, values)
        self.processes.wait()

    def restore(self, training: Training) -> Mapping[str, Any] | None:
        """Load the newest snapshot of a training's stage; returns its values, None without one."""
        found = self._snapshots.newest(training.objective.stage) if self._snapshots else None
        if found is None:
            return None
        training.load(*found)
        self.say(f"{training.objective.stage} goes on at step {training.step}")
        return found[1]

    def point(self, name: str, value: float, step: int) -> None:
        """A point of a curve."""
        if self._curves:
            self._curves.point(name, value, step)


class Following:
    """One training under the eyes of a run."""

    def __init__(self, run: Run, training: Training) -> None:
        self._run, self._training = run, training
        self._stage, steps = training.objective.stage, training.config.steps
        self._watch = Watch(self._stage, steps)
        values = run.restore(training)
        if values is not None:
            self._watch.load(values["watch"])
        self._progress = run.progress(self._stage, steps, training.step)

    def after(self, losses: Mapping[str, float], norm: float) -> None:
        """A step was made."""
        training, config = self._training, self._run.config
        self._progress.update(training.step, _written(losses))
        # In a joint run the token's loss rises while the VLA's tokens take shape.
        watched = losses.get("vla_loss", next(iter(losses.values())))
        warning = self._watch.see(watched)
        if warning:
            self._run.say(f"warning: {warning}")
        if training.step % config.log_every == 0 or training.done:
            self._draw(losses, norm)
        if training.done or (config.save_every and training.step % config.save_every == 0):
            self._run.snapshot(training, training.values() | {"watch": self._watch.state()})

    def validated(self, losses: Mapping[str, float]) -> None:
        """The losses on episodes that are not trained on."""
        for name, value in losses.items():
            self._run.point(f"val/{name}", value, self._training.step)
        self._run.say(f"{self._stage} {self._training.step}: validation {_written(losses)}")

    def _draw(self, losses: Mapping[str, float], norm: float) -> None:
        own = {"grad_norm": norm, "learning_rate": self._training.rate}
        points = {f"train/{name}": value for name, value in losses.items()}
        points |= {f"{self._stage}/{name}": value for name, value in own.items()}
        for name, value in points.items():
            self._run.point(name, value, self._training.step)


class Curves:
    """TensorBoard; a disk that refuses ends the curves and not the training."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError("tensorboard is missing: pip install 'rlt_ros[learn]'") from error
        self._writer: Any = SummaryWriter(str(folder), flush_secs=10)

    def point(self, name: str, value: float, step: int) -> None:
        """One point of a curve."""
        try:
            self._writer.add_scalar(name, value, step)
        except OSError as error:
            print(f"stage1: curves are not written any more, training goes on: {error}", flush=True)
            self._writer = _Nowhere()

    def close(self) -> None:
        """Flush and close the event file."""
        self._writer.close()


class _Nowhere:
    def add_scalar(self, *args: object) -> None:
        pass

    def close(self) -> None:
        pass


def _written(losses: Mapping[str, float]) -> str:
    return " ".join(f"{name} {value:.4f}" for name, value in losses.items())
