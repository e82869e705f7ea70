"""From rows to weights: who may learn when, how much, and what is known about it."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlt_ros.rl.alarms import AlarmLimits
from rlt_ros.rl.algorithms import make_agent
from rlt_ros.rl.budget import Budget
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.diagnostics import Diagnostics
from rlt_ros.rl.flat import keep_freed_memory
from rlt_ros.rl.gate import Gate, Progress
from rlt_ros.rl.phases import PhaseOutcome
from rlt_ros.rl.probes import PROBE_ROWS, UNKNOWN, Probes, Scale, probe
from rlt_ros.rl.replay import Replay
from rlt_ros.rl.rows import RowSpec
from rlt_ros.rl.stats import LearnerStats
from rlt_ros.rl.stored import Stored
from rlt_ros.rl.turns import Turns
from rlt_ros.rl.warmstart import WarmStart
from rlt_ros.rl.weights import checksum, pack, start_from
from rlt_ros.tensor import torch
from rlt_ros.types import Label, PolicyWeights, Transition, robot_of

_log = logging.getLogger(__name__)


class Diverged(RuntimeError):
    """A loss is not finite: the weights are worthless and must not reach a robot."""


def never() -> bool:
    """The default of `Learner.train`: run until the budget or the limit is spent."""
    return False


class Learner:
    """Rows in, weights out. Every method may be called from any thread; each waits for one update at most.

    contract: fingerprint of the Stage-1 checkpoint. translation_mm, rotation_rad: per control step at |a| = 1. limits:
    of the alarms, None for the defaults. clock: steady seconds. These four are for the report only: what is learned
    depends on the settings and on the rows in their order, not on how training is sliced, on who asks for weights or
    statistics, or on time.
    """

    def __init__(
        self,
        config: AgentConfig,
        dims: Dims,
        contract: str,
        translation_mm: float,
        clock: Callable[[], float] = time.monotonic,
        rotation_rad: float = UNKNOWN,
        limits: AlarmLimits | None = None,
    ) -> None:
        torch.set_num_threads(config.threads)
        keep_freed_memory()
        self.config, self.dims, self.contract = config, dims, contract
        self.agent = make_agent(config, dims)
        self.replay = Replay(config, dims)
        self.budget = Budget(config.utd, config.max_debt)
        self.gate = Gate(config)
        self.progress = Progress()
        self._warm_start = WarmStart(config)
        self.spec = RowSpec.of(config, dims)
        self.taken: dict[str, int] = {}
        """Id of the newest row of each stream."""
        self._sampling = torch.Generator().manual_seed(config.seed + 1)
        self.translation_mm = translation_mm
        self._clock = clock
        self._diagnostics = Diagnostics(limits or AlarmLimits(), Scale(translation_mm, rotation_rad), clock())
        self._version, self._packed, self._packed_at = 0, None, 0
        self._open: set[str] = set()
        self._turns = Turns()

    @property
    def rows(self) -> int:
        """Rows in the replay."""
        return len(self.replay)

    @property
    def update_debt(self) -> int:
        """Critic updates earned and not yet spent."""
        return self.budget.debt

    @property
    def phase_open(self) -> bool:
        """Rows of a robot's phase have come, but not its last one."""
        return bool(self._open)

    def awaits(self, stream: str) -> bool:
        """Whether that is so of the robot that this stream comes from."""
        return robot_of(stream) in self._open

    @property
    def due_updates(self) -> int:
        """Updates that could be made now, pre-training included; 0 while it waits for data."""
        with self._turns:
            if not self._warm_start.warm(self.progress, self.rows):
                return 0
            return self.budget.debt + self._warm_start.left(self.progress)

    @property
    def weights_version(self) -> int:
        """Newest version that `weights` has given, 0 before the first."""
        return self._version

    def check(self, row: Transition) -> None:
        """Raises RowError if `add` would."""
        with self._turns:
            self.spec.check(row)
            self.replay.check(row)

    def add(self, rows: Iterable[Transition]) -> int:
        """Store rows in their order; returns how many are new. Each earns updates. Raises RowError on one that does not
        fit, after storing those before it.
        """
        return sum(self._add(row) for row in rows)

    def assign(self, updates: int) -> None:
        """Let so many critic updates be due, whatever the rows have earned."""
        with self._turns:
            self.budget.assign(updates)

    def train(self, max_updates: int, stop: Callable[[], bool] = never) -> int:
        """Make earned updates, at most so many, until stop says so; returns how many. Pre-training updates count.

        Raises Diverged when a loss is not finite.
        """
        done = 0
        while done < max_updates and not stop():
            with self._turns:
                if not self._step():
                    break
            done += 1
        return done

    def weights(self) -> PolicyWeights:
        """The newest weights; a new version only if they or the gate have changed since the last call."""
        with self._turns:
            state = (self.agent.actor_updates, self._warm_start.updates, self.gate.open)
            if self._packed is None or self._packed[0] != state:
                self._version += 1
                self._packed, self._packed_at = (state, self._pack()), self.agent.critic_updates
            return self._packed[1]

    def continue_from(self, version: int) -> None:
        """Number the next weights above a version that an earlier life of this learner has given out."""
        with self._turns:
            self._version = max(self._version, version)

    def start_from(self, path: Path) -> int:
        """Begin with the actor of another run's policy file instead of an untrained one; returns its version there.

        Only the actor and its average are taken: critics, optimisers and counters begin anew, and pre-training is left
        out, which would draw the actor back to the reference. Raises WeightsError naming both values if the file is
        of another contract or its actor of another make, RuntimeError if this learner has learned already.
        """
        with self._turns:
            made = self.agent.critic_updates + self._warm_start.updates
            if made:
                raise RuntimeError(f"{path}: cannot start from weights after {made} updates; expected none")
            version = start_from(self.agent, path, self.contract)
            self.progress.started, self._packed = True, None
            self.gate.update(self.progress)
            return version

    def stats(self, duplicates: int = 0, refused: int = 0) -> LearnerStats:
        """Everything about learning that is worth a plot. duplicates, refused: the receiver's counts."""
        with self._turns:
            return self._diagnostics.look(self, self._probe(), self._clock(), duplicates, refused)

    @property
    def alarms(self) -> Mapping[str, str]:
        """Name of each alarm that the last statistics raised -> what it says."""
        return self._diagnostics.alarms.texts

    @property
    def outcomes(self) -> tuple[PhaseOutcome, ...]:
        """The last finished phases, oldest first."""
        with self._turns:
            return self._diagnostics.phases.outcomes

    @property
    def updates_since_weights(self) -> int:
        """Critic updates since the newest version of the weights was made."""
        return self.agent.critic_updates - self._packed_at

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """What a checkpoint holds besides the rows: tensors (copies) and JSON-ready values."""
        with self._turns:
            return self._state()

    @contextmanager
    def held(self) -> Iterator[tuple[dict[str, torch.Tensor], dict[str, Any], Stored]]:
        """State and rows of one moment; nothing is added or learned for as long as the caller has them."""
        with self._turns, self.replay.held() as stored:
            yield *self._state(), stored

    def load_state(
        self, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any], stored: Stored | None = None
    ) -> None:
        """Take over a state with its rows, in a new learner; without `stored` in one that has been given these rows and
        no others. Raises ValueError if their number differs or something does not fit.
        """
        with self._turns:
            progress, updates = Progress(**values["progress"]), values["updates"]
            rows = self.progress.rows if stored is None else stored.added
            if rows != progress.rows:
                raise ValueError(f"the state was saved after {progress.rows} rows; {rows} are here")
            if stored is not None:
                self.replay.restore(stored)
            self.taken, self._open = dict(values["taken"]), set(values.get("open_phases", ()))
            self.agent.load_tensors(tensors)
            self.agent.critic_updates, self.agent.actor_updates = updates["critic"], updates["actor"]
            self._sampling.set_state(tensors["sampling"])
            self.progress = progress
            self.budget.debt, self.budget.forgone = values["budget"]["debt"], values["budget"]["forgone"]
            self._warm_start.restore(values["warm_start"])
            self.gate.open, self._version = values["gate_open"], values["weights_version"]
            self.gate.update(self.progress)
            self._keep_threads(values["threads"])
            self._packed, self._packed_at = None, self.agent.critic_updates
            self._diagnostics.resumed(self.agent.critic_updates, self._clock())

    def _state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        tensors = self.agent.tensors() | {"sampling": self._sampling.get_state()}
        values = {
            "progress": dict(vars(self.progress)),
            "budget": {"debt": self.budget.debt, "forgone": self.budget.forgone},
            "updates": {"critic": self.agent.critic_updates, "actor": self.agent.actor_updates},
            "warm_start": dict(vars(self._warm_start.state)),
            "gate_open": self.gate.open,
            "weights_version": self._version,
            "taken": dict(self.taken),
            "open_phases": sorted(self._open),
            "threads": self.config.threads,
        }
        return {name: t.detach().cpu().clone() for name, t in tensors.items()}, values

    def _add(self, row: Transition) -> bool:
        with self._turns:
            self.spec.check(row)
            if not self.replay.add(row):
                return False
            # A restart without a checkpoint must not number its weights below those that have driven already.
            self._version = max(self._version, row.weights_version)
            self.budget.earn(1)
            self.progress.rows += 1
            self.taken[row.stream] = row.id
            # By robot: an actor that was killed in the middle of a phase goes on with another stream.
            (self._open.discard if row.last_of_phase else self._open.add)(robot_of(row.stream))
            if row.last_of_phase:
                self.progress.phases += 1
                self.progress.successes += row.label == Label.SUCCESS
                self.progress.failures += row.label == Label.FAILURE
            self._diagnostics.add(row, self.progress.phases)
            self.gate.update(self.progress)
            return True

    def _keep_threads(self, saved: int) -> None:
        # Sums over more threads round differently: a run that goes on must go on with as many as it had.
        if saved != self.config.threads:
            _log.warning("threads: %d kept from the checkpoint; the setting here is %d", saved, self.config.threads)
            self.config = self.agent.config = replace(self.config, threads=saved)
            torch.set_num_threads(saved)

    def _step(self) -> bool:
        if not self._warm_start.warm(self.progress, self.rows):
            return False
        if self._warm_start.unmeasured(self.progress):
            self.progress.pretrained_error = self._probe().reference_error
        if self._warm_start.left(self.progress):
            self._pretrain()
        elif self.budget.spend():
            self._update()
        else:
            return False
        self.gate.update(self.progress)
        return True

    def _pretrain(self) -> None:
        loss = self.agent.pretrain(self.replay.sample(self.config.batch, self._sampling))
        self._note(bc_loss=loss)
        if self._warm_start.count(self.progress):
            self.progress.pretrained_error = self._probe().reference_error

    def _update(self) -> None:
        info = self.agent.update(self.replay.sample(self.config.batch, self._sampling))
        self.progress.critic_updates = self.agent.critic_updates
        self._note(**{name: value for name, value in vars(info).items() if value is not None})

    def _note(self, **scalars: torch.Tensor) -> None:
        for name, value in scalars.items():
            self._diagnostics.last[name] = number = float(value)
            if not math.isfinite(number):
                raise Diverged(f"{name} is {number} at critic update {self.agent.critic_updates}")

    def _probe(self) -> Probes:
        rows = min(PROBE_ROWS, self.replay.window // 2)
        if rows == 0:
            return Probes()
        # Its own generator, from the state of learning: looking changes nothing, and the same state looks the same.
        generator = torch.Generator().manual_seed(self.config.seed + self.agent.critic_updates)
        return probe(self.agent, self.replay.sample(rows, generator), self._diagnostics.scale, generator)

    def _pack(self) -> PolicyWeights:
        data = pack(self.agent, self._version, self.contract)
        return PolicyWeights(self._version, self.contract, checksum(data), self.gate.open, self.gate.reason, data)
