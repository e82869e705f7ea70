"""Stage 1 from demonstrations to a checkpoint, one step after the other.

demonstrations -> frames -> VLA (or VLA and token) -> embeddings -> token -> figures -> checkpoint
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlt_ros.data.contract import FORMAT, Contract, robot_terms
from rlt_ros.data.demos import Demonstration
from rlt_ros.data.norm import NormStats
from rlt_ros.robot.config import RobotConfig
from rlt_ros.tensor import nn
from rlt_ros.token.agreement import agreement, doubts
from rlt_ros.token.checkpoint import Stage1, freeze, save_stage1, token_identity
from rlt_ros.token.config import Stage1Config
from rlt_ros.token.corpus import Corpus
from rlt_ros.token.embeddings import Embeddings, OnDisk, check, embedding_identity, in_memory, passes, write
from rlt_ros.token.figures import plain, probes, table
from rlt_ros.token.model import RLToken
from rlt_ros.token.run import Run
from rlt_ros.token.sources import dataset_hash, record
from rlt_ros.token.start import Start, start
from rlt_ros.token.train_joint import train_joint
from rlt_ros.token.train_token import encode_all, finish, measure, train_token
from rlt_ros.token.train_vla import train_vla
from rlt_ros.vla.contract import VLA


def run_stage1(
    config: Stage1Config, robot: RobotConfig, seed: int, output: Path, recipe: str = "", run: Run | None = None
) -> None:
    """Gather demonstrations, train, write the checkpoint directory.

    recipe: kept with the metrics, so that it can be told later what the checkpoint was made from.
    """
    run = run or Run()
    parts = start(config, robot, seed, str(run.processes.device))
    _refuse_stale_embeddings(config, run)
    recorded = record(config, robot, seed, parts.vla.image_size[0], run)
    episodes = recorded.episodes
    stage1, metrics = train(config, robot, episodes, seed, run, parts, recorded.pictures)
    metrics["demonstrator_success"] = sum(bool(episode.success) for episode in episodes) / len(episodes)
    if run.processes.rank == 0:
        made_from = {"seed": seed, "recipe": recipe}
        if config.dataset.path:
            made_from |= {"dataset": config.dataset.path, "dataset_hash": dataset_hash(config.dataset)}
        save_stage1(output, stage1, plain(metrics | made_from))
    for line in table(metrics):
        run.say(line)
    run.close()


def train(
    config: Stage1Config,
    robot: RobotConfig,
    episodes: Sequence[Demonstration],
    seed: int,
    run: Run | None = None,
    parts: Start | None = None,
    pictures: dict[str, np.ndarray] | None = None,
) -> tuple[Stage1, dict[str, float]]:
    """What the configuration's objective asks for; the same seed gives the same weights on one machine.

    pictures: of all frames, where the episodes hold none.
    """
    run, parts = run or Run(), parts or start(config, robot, seed)
    vla, token, untrained = parts.vla, parts.token, copy.deepcopy(parts.token)
    corpus = Corpus.of(episodes, config, vla, seed, parts.norm, pictures)
    if run.resumable:
        run.bind(data=corpus.identity, statistics=corpus.norm.hash, vla=vla.identity)
    # Said before hours of training of the token, where the VLA will not change any more.
    early = judged(vla, corpus, config, robot, run) if config.objective == "frozen" else None
    metrics, embeddings = learn(vla, token, corpus, config, seed, run)
    metrics |= judged(vla, corpus, config, robot, run) if early is None else early
    metrics |= figures(token, untrained, embeddings, corpus)
    metrics |= {"frames": len(corpus), "validation_frames": len(corpus.validation)}
    return assembled(config, robot, corpus.norm, vla, token), metrics


def learn(
    vla: VLA, token: RLToken, corpus: Corpus, config: Stage1Config, seed: int, run: Run
) -> tuple[dict[str, float], Embeddings]:
    """Train in place. Returns losses and the reconstruction, and the frames' tokens under the VLA as it is then."""
    if config.objective == "joint":
        metrics = train_joint(vla, token, corpus, config, seed, run)
        embeddings = embed(vla, corpus, config, run)
        return metrics | finish(token, embeddings), embeddings
    metrics = train_vla(vla, corpus, config, seed, run) if config.objective == "sequential" else {}
    embeddings = embed(vla, corpus, config, run)
    metrics |= train_token(token, embeddings, config.fit_token, seed, run, corpus.training, corpus.validation)
    return metrics, embeddings


def embed(vla: VLA, corpus: Corpus, config: Stage1Config, run: Run) -> Embeddings:
    """Tokens of all frames under the VLA as it is now, from the run's directory of embeddings if it has one.

    Raises ContractMismatch where that holds those of other frames or another VLA.
    """
    freeze(vla)
    progress = run.progress("embeddings", len(corpus))
    parts = passes(vla, corpus, config.instruction, progress.update)
    if not run.config.embeddings:
        return in_memory(vla, parts, config.instruction)
    path = Path(run.config.embeddings)
    identity = embedding_identity(vla, corpus, config.instruction, config.embedding_dtype)
    if run.processes.rank == 0 and not path.exists():
        write(path, identity, parts)
    run.processes.wait()
    check(path, identity)
    return OnDisk(path)


def judged(vla: VLA, corpus: Corpus, config: Stage1Config, robot: RobotConfig, run: Run) -> dict[str, float]:
    """How well the VLA's reference agrees with the demonstrations; doubts are said."""
    found = agreement(vla, corpus, config.instruction, config.chunk, robot.gripper.hysteresis)
    for line in doubts(found):
        run.say(line)
    return found


def figures(token: RLToken, untrained: RLToken, embeddings: Embeddings, corpus: Corpus) -> dict[str, float]:
    """Probes of z, of a token that was never trained, and of proprioception."""
    measure(untrained, embeddings)
    vectors = {"z": token, "untrained_z": untrained}
    return probes(corpus, {name: encode_all(part, embeddings) for name, part in vectors.items()})


def assembled(config: Stage1Config, robot: RobotConfig, norm: NormStats, vla: VLA, token: RLToken) -> Stage1:
    """Trained parts, frozen and on the processor, under one contract."""
    for part in (vla, token):
        if isinstance(part, nn.Module):
            part.cpu()
    freeze(vla, token)
    return Stage1(make_contract(config, robot, norm, vla, token), norm, vla, token)


def make_contract(config: Stage1Config, robot: RobotConfig, norm: NormStats, vla: VLA, token: RLToken) -> Contract:
    """The contract of trained parts."""
    return Contract(
        format=FORMAT,
        task=config.task,
        cameras=vla.cameras,
        image_size=vla.image_size,
        instruction=config.instruction,
        chunk=config.chunk,
        horizon=vla.horizon,
        token_dim=token.config.dim,
        norm_hash=norm.hash,
        vla=vla.identity,
        token=token_identity(token),
        **robot_terms(robot) | {"proprio_names": config.proprio_names},
    )


def _refuse_stale_embeddings(config: Stage1Config, run: Run) -> None:
    """A VLA that is trained first cannot be the one of embeddings that are there: said now, not after the training."""
    path = Path(run.config.embeddings)
    if run.config.embeddings and config.objective != "frozen" and path.exists() and not run.resumed:
        raise FileExistsError(f"{path}: token embeddings are there already, of another VLA than this run will train")
