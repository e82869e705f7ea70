"""RL Token as an algorithm of LeRobot's reinforcement-learning stack."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from rlt_ros.files import written_aside
from rlt_ros.lerobot import observations
from rlt_ros.lerobot.batches import rows_of
from rlt_ros.lerobot.config import NAME, RLTConfig
from rlt_ros.lerobot.contract import BatchType, TrainingStats, conforming
from rlt_ros.lerobot.fields import BatchError
from rlt_ros.lerobot.hub import CONFIG_NAME, SAFETENSORS_SINGLE_FILE, ModelHubMixin, hub_file
from rlt_ros.lerobot.offline import TokenTraining
from rlt_ros.lerobot.policy import RLTPolicy
from rlt_ros.rl.agent import UpdateInfo, load_strictly
from rlt_ros.rl.algorithms import make_agent
from rlt_ros.rl.learner import Diverged
from rlt_ros.rl.replay import Batch
from rlt_ros.tensor import Tensor, torch

COUNTERS = ("online", "optimization_step", "critic_updates", "actor_updates")


@conforming
class RLTAlgorithm(ModelHubMixin, library_name="rlt_ros", license="apache-2.0", pipeline_tag="robotics"):
    """`Agent` and `RLToken` behind the contract of LeRobot's `RLAlgorithm` as of its commit 7427f318.

    Two phases: `offline_update` trains the token on demonstrations, `transition_to_online` freezes it for good,
    `update` trains actor and critics on a replay. What is learned is what `rl` and `token` say; keys of batches are
    those of `batches`. Updates are not earned by data here: LeRobot's learner calls `update` as often as it likes.
    """

    config_class = RLTConfig
    name = NAME

    def __init__(self, policy: RLTPolicy, config: RLTConfig) -> None:
        """The policy's actors become the agent's (`RLTPolicy.join`). Raises ContractMismatch if the policy was made for
        other settings than config; device and threads are config's.
        """
        policy.config.check(config)
        self.config, self.policy = config, policy
        self.agent = make_agent(config.agent, config.dims)
        policy.join(self.agent)
        self._offline = TokenTraining(policy.token, config.fit_token, config.agent.seed)
        self._optimization_step = 0
        self._set_online(False)

    @property
    def online(self) -> bool:
        """Whether the token is frozen and actor and critics learn."""
        return self._online

    @property
    def optimization_step(self) -> int:
        """Calls of `offline_update`, `pretrain` and `update` so far; a resumed run goes on counting."""
        return self._optimization_step

    @optimization_step.setter
    def optimization_step(self, value: int) -> None:
        self._optimization_step = int(value)

    def supports_offline_phase(self) -> bool:
        """Yes: the token is trained before the agent."""
        return True

    def configure_data_iterator(
        self, data_mixer: Any, batch_size: int, *, async_prefetch: bool = True, queue_size: int = 2
    ) -> Iterator[BatchType]:
        """The mixer's own iterator: nothing here needs special sampling."""
        return data_mixer.get_iterator(batch_size=batch_size, async_prefetch=async_prefetch, queue_size=queue_size)

    def make_optimizers_and_scheduler(self) -> dict[str, torch.optim.Optimizer]:
        """The optimisers, which exist since construction: what they have learned is never thrown away by a trainer that
        is built after loading. Called on the learner's side only, so torch's threads are set here.
        """
        torch.set_num_threads(self.config.agent.threads)
        return self.get_optimizers()

    def get_optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """`rl_token`, `actor` and `critic`, in both phases: a checkpoint of one can be read in the other."""
        return {"rl_token": self._offline.optimizer} | self.agent.optimizers

    def offline_update(self, batch_iterator: Iterator[BatchType]) -> TrainingStats:
        """One step of encoder and decoder on `observation.vla_embeddings` of one batch (Eq. 2, summed over tokens).

        Raises RuntimeError once online, BatchError, and Diverged when the loss is not finite.
        """
        if self.online:
            raise RuntimeError("offline_update after transition_to_online: rows in the replay depend on the token")
        rate = self._offline.rate
        prefix = observations.prefix(_observation(next(batch_iterator), "state"), self.config)
        losses, norm = self._offline.step(prefix)
        self._optimization_step += 1
        return TrainingStats(losses=losses, grad_norms={"rl_token": norm}, extra={"rl_token_lr": rate})

    def transition_to_online(self) -> None:
        """Standardise z over the newest demonstrations and freeze the token. Nothing happens the second time; counters
        and optimisers stay as they are, and the state that is saved knows the phase (`method.md` 52).
        """
        if not self.online:
            self._offline.finish()
            self._set_online(True)

    def pretrain(self, batch_iterator: Iterator[BatchType]) -> TrainingStats:
        """One update of the actor on BC alone, on one batch. LeRobot's contract has no place for it: call it
        `agent.bc_pretrain_updates` times before the first `update`, and the actor equals the reference.
        """
        self.transition_to_online()
        loss = self.agent.pretrain(self._rows(next(batch_iterator)))
        self._optimization_step += 1
        return TrainingStats(losses=_finite({"loss_bc": float(loss)}), grad_norms=self._norms("actor"))

    def update(self, batch_iterator: Iterator[BatchType]) -> TrainingStats:
        """`agent.utd` critic updates on as many batches, one of the actor with every `agent.actor_every`-th of them:
        2:1 counted in critic updates, across calls. The first call ends the offline phase.

        Returns means over the call, actor's only if it was updated. Raises BatchError, and Diverged when a loss is not
        finite.
        """
        self.transition_to_online()
        infos = [self.agent.update(self._rows(next(batch_iterator))) for _ in range(self.config.agent.utd)]
        self._optimization_step += 1
        learned = [info for info in infos if info.actor_loss is not None]
        losses, extra = {"loss_critic": _mean(infos, "critic_loss")}, {"q_value_mean": _mean(infos, "q_mean")}
        if learned:
            losses["loss_actor"], extra["bc_loss"] = _mean(learned, "actor_loss"), _mean(learned, "bc_loss")
        return TrainingStats(_finite(losses), self._norms("critic", *["actor"] * bool(learned)), extra)

    def get_weights(self) -> dict[str, dict[str, Tensor]]:
        """What an acting process needs, copied to the CPU: actor, its average `ema`, and the token's encoder."""
        return {name: _copied(tensors) for name, tensors in self.policy.acting_tensors().items()}

    def load_weights(self, weights: Mapping[str, Any], device: str | torch.device = "cpu") -> None:
        """Take over what `get_weights` gave, in place on the policy's device; device is LeRobot's and has no effect.

        Raises ValueError naming a part or a tensor that is missing, unknown or misshapen.
        """
        self.policy.load_acting_tensors(weights)

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the next update reads, by name: networks, targets, optimisers, generators, phase, counters.

        LeRobot asks for what is not the policy's. The policy's are in it too: a resumed run of theirs once went on from
        a random policy (`method.md` 53).
        """
        counters = {name: torch.tensor(int(value)) for name, value in zip(COUNTERS, self._counters())}
        parts = {"agent": self.agent.tensors(), "token": self.policy.token.state_dict()}
        parts |= {"offline": self._offline.tensors(), "counters": counters}
        return {f"{part}.{name}": tensor for part, tensors in parts.items() for name, tensor in tensors.items()}

    def load_state_dict(self, state_dict: Mapping[str, Tensor], device: str | torch.device = "cpu") -> None:
        """Take over what `state_dict` gave, in place: parameters and optimisers stay the same objects, on their device.

        Raises ValueError naming a tensor that is missing, unknown or misshapen.
        """
        parts: dict[str, dict[str, Tensor]] = {"agent": {}, "token": {}, "offline": {}, "counters": {}}
        for key, tensor in state_dict.items():
            part, _, name = key.partition(".")
            if part not in parts:
                raise ValueError(f"tensor {key} belongs to none of {sorted(parts)}")
            # Copies: optimisers keep what they are given, and two algorithms must not share their moments.
            parts[part][name] = tensor.detach().clone()
        if set(parts["counters"]) != set(COUNTERS):
            raise ValueError(f"counters are {sorted(parts['counters'])}; expected {sorted(COUNTERS)}")
        load_strictly(self.policy.token, parts["token"], "token")
        self.agent.load_tensors(parts["agent"])
        self._offline.load_tensors(parts["offline"])
        online, self._optimization_step, self.agent.critic_updates, self.agent.actor_updates = (
            int(parts["counters"][name]) for name in COUNTERS
        )
        self._set_online(bool(online))

    @classmethod
    def from_pretrained(
        cls,
        pretrained_name_or_path: str | Path,
        *,
        policy: RLTPolicy | None = None,
        config: RLTConfig | None = None,
        force_download: bool = False,
        resume_download: bool | None = None,
        proxies: dict | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
        revision: str | None = None,
        device: str | torch.device = "cpu",
    ) -> RLTAlgorithm:
        """An algorithm as `save_pretrained` left it, from a local directory or a repository on the hub.

        policy: takes over the saved tensors; a new one without it. config: instead of the saved one. resume_download,
        proxies and device are LeRobot's and have no effect: the hub library no longer knows the first two, the third is
        `config.agent.device`. Raises FileNotFoundError, ConfigError, ContractMismatch, ValueError as `load_state_dict`.
        """
        given = {name: value for name, value in (("policy", policy), ("config", config)) if value is not None}
        try:
            return super().from_pretrained(
                pretrained_name_or_path,
                force_download=force_download,
                token=token,
                cache_dir=cache_dir,
                local_files_only=local_files_only,
                revision=revision,
                **given,
            )
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{pretrained_name_or_path}: {error}") from error

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        policy: RLTPolicy | None = None,
        config: RLTConfig | Mapping[str, Any] | None = None,
        **where: Any,
    ) -> RLTAlgorithm:
        if config is None:  # the mixin has only logged it
            raise FileNotFoundError(f"{CONFIG_NAME} is missing")
        if not isinstance(config, RLTConfig):
            config = RLTConfig.from_dict(config, f"{model_id}/{CONFIG_NAME}")
        algorithm = cls(policy=policy or RLTPolicy(config), config=config)
        algorithm.load_state_dict(load_file(hub_file(model_id, SAFETENSORS_SINGLE_FILE, **where)))
        return algorithm

    def _save_pretrained(self, save_directory: Path) -> None:
        with written_aside(Path(save_directory) / SAFETENSORS_SINGLE_FILE) as path:
            save_file(_copied(self.state_dict()), path)
        with written_aside(Path(save_directory) / CONFIG_NAME) as path:
            path.write_text(self.config.to_json())

    def _rows(self, batch: BatchType) -> Batch:
        states = (self.policy.state(_observation(batch, key)) for key in ("state", "next_state"))
        return rows_of(batch, *states, self.config)

    def _set_online(self, online: bool) -> None:
        self._online = online
        self.policy.token.train(not online).requires_grad_(not online)

    def _counters(self) -> tuple[int, ...]:
        return self._online, self._optimization_step, self.agent.critic_updates, self.agent.actor_updates

    def _norms(self, *names: str) -> dict[str, float]:
        return {name: self.agent.grad_norm(name) for name in names}


def _observation(batch: BatchType, key: str) -> Mapping[str, Any]:
    if key not in batch:
        raise BatchError(f"{key} is missing; there are {sorted(batch)}")
    return batch[key]


def _mean(infos: list[UpdateInfo], name: str) -> float:
    return float(torch.stack([getattr(info, name) for info in infos]).mean())


def _finite(losses: dict[str, float]) -> dict[str, float]:
    for name, value in losses.items():
        if not math.isfinite(value):
            raise Diverged(f"{name} is {value}")
    return losses


def _copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    # Networks are views of one vector, and whoever writes a view writes the whole of it.
    return {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
