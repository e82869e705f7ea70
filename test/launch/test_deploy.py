"""What was learned is deployed: it drives alone, learns nothing, and its results stand in a table."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from graph import Graph, Listener
from recorder import Person

from rlt_ros import msg, srv
from rlt_ros.data.contract import read_contract
from rlt_ros.nodes import qos
from rlt_ros.rl.agent import Agent
from rlt_ros.rl.config import AgentConfig, Dims
from rlt_ros.rl.weights import checksum, pack, write_policy_file
from rlt_ros.types import Mode, Phase, PolicyWeights

STATUS, WORD, STEP, ROW = "/rlt/operator_status", "/rlt/policy_mode", "/rlt/executed_step", "/rlt/transition"
TOPICS = {
    STATUS: (msg.OperatorStatus, qos.LATCHED),
    WORD: (msg.PolicyMode, None),
    STEP: (msg.ExecutedStep, None),
    ROW: (msg.Transition, qos.TRANSITIONS),
}
SET, LABEL = srv.SetPolicyMode.Request, srv.LabelEpisode.Request


@pytest.fixture()
def policy(checkpoint: Path, tmp_path: Path) -> Path:
    """A policy file as a run leaves it; the actor in it has seen nothing."""
    contract = read_contract(checkpoint)
    config = AgentConfig(chunk=contract.chunk)
    agent = Agent(config, Dims(*contract.sizes))
    data = pack(agent, 7, contract.fingerprint)
    path = tmp_path / "policy.safetensors"
    write_policy_file(path, PolicyWeights(7, contract.fingerprint, checksum(data), True, "", data))
    return path


@pytest.fixture()
def deploy(tmp_path: Path, checkpoint: Path, quick: Path, policy: Path) -> Iterator[Callable[..., Graph]]:
    """Starts `ros2 launch rlt_ros deploy.launch.py`."""
    started: list[Graph] = []

    def start(domain: int | None = None, **arguments: object) -> Graph:
        defaults = {"policy": policy, "checkpoint": checkpoint, "run_dir": tmp_path / "deployed", "params_file": quick}
        log = tmp_path / f"launch{len(started)}.log"
        started.append(Graph(log, defaults | arguments, launch_file="deploy.launch.py", domain=domain))
        return started[-1]

    yield start
    for graph in started:
        graph.abandon()


def test_each_policy_is_evaluated_on_the_same_starts_and_nothing_is_learned(
    deploy: Callable[..., Graph], listener: Listener, policy: Path
) -> None:
    graph = deploy(domain=listener.domain, episodes=2, evaluations="base,final", record="true")
    graph.wait_for(lambda: listener.spin() and (graph.run_dir / "summary.json").exists(), 240, "the summary")
    assert graph.end(180) == 0 and "Traceback" not in graph.text
    assert f"policy {policy} has learned nothing from its critics yet" in graph.text
    assert (graph.run_dir / "bag" / "metadata.yaml").exists()
    summary = json.loads((graph.run_dir / "summary.json").read_text())
    for name in ("base", "final"):
        assert summary[name]["episodes"] == 2 and summary[name]["invalid"] == 0
    assert (summary["policy"], summary["weights_version"]) == (str(policy), 7)
    assert "base VLA       " in graph.text and "learned actor" in graph.text and " of 2 (" in graph.text
    words = {word.observation_id: word for word in listener.received[WORD]}
    phases = [word for word in words.values() if word.phase == Phase.CRITICAL]
    assert phases and all(word.evaluation and not word.explore and not word.record for word in phases)
    seeds = [word.reset_seed for word in words.values() if word.mode == Mode.RESET]
    assert len(seeds) >= 4 and seeds[:2] == seeds[2:4]
    drivers = {step.phase_id: step.driver for step in listener.received[STEP] if step.phase_id}
    assert set(drivers.values()) == {msg.ExecutedStep.VLA, msg.ExecutedStep.ACTOR}
    assert not listener.received[ROW]


def test_help_makes_an_episode_invalid_and_an_interrupted_evaluation_tells_what_it_has(
    deploy: Callable[..., Graph], listener: Listener
) -> None:
    graph = deploy(domain=listener.domain, episodes=5, operator="person", lockstep="true")
    person = Person(graph, listener)
    hand = listener.node.create_publisher(msg.HumanAction, "/rlt/human_action", qos.STEP)

    def hold_still() -> bool:
        word = listener.newest(WORD)
        hand.publish(msg.HumanAction(header=word.header, observation_id=word.observation_id, action=[0.0] * 7))
        return True

    def wait(what: Callable[[], object], why: str) -> None:
        graph.wait_for(lambda: listener.spin() and what(), 120, why)

    def episode(count: int, helped: bool) -> None:
        wait(lambda: person.label(LABEL.BEGIN).success, "the begin")
        wait(lambda: listener.newest(WORD).phase == Phase.CRITICAL, "a critical phase")
        if helped:
            assert person.mode(SET.HUMAN).success
            wait(lambda: hold_still() and listener.newest(STATUS).driver == msg.ExecutedStep.HUMAN, "the person's step")
            assert listener.newest(STATUS).intervened
        assert person.label(LABEL.SUCCESS).success
        wait(lambda: hold_still() and len(listener.newest(STATUS).labels) == count, "the label")

    wait(lambda: person.mode(SET.RESET).success, "a reset")
    episode(1, helped=False)
    episode(2, helped=True)
    assert listener.newest(STATUS).stage == "final" and listener.newest(STATUS).stage_episodes == 1
    graph.send(signal.SIGINT, whole_group=True)
    assert graph.end() == 0
    summary = json.loads((graph.run_dir / "summary.json").read_text())
    assert summary["interrupted"] and summary["final"]["episodes"] == 1 and summary["final"]["invalid"] == 1
    assert "1 of 1 (100 %, 21 to 100 %)" in graph.text and "1 repeated" in graph.text and "interrupted" in graph.text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"policy": "nowhere.safetensors"}, "nowhere.safetensors does not exist: expected the policy.safetensors"),
        ({"evaluations": "final,last"}, "evaluations are final, last; expected some of base"),
        ({"robot": "franka", "checkpoint": None}, "robot:=franka needs checkpoint:=DIR"),
        ({"robot": "franka", "operator": "scripted"}, "operator:=scripted needs robot:=sim"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_moves(
    deploy: Callable[..., Graph], arguments: dict, reason: str
) -> None:
    graph = deploy(**arguments)
    assert graph.end(60) == 1
    assert reason in graph.text and "process started" not in graph.text


def test_a_policy_of_another_contract_ends_the_run_and_names_both(deploy: Callable[..., Graph], policy: Path) -> None:
    contract = "0" * 16
    agent = Agent(AgentConfig(), Dims(z=64, proprio=19, action=7))
    data = pack(agent, 1, contract)
    write_policy_file(policy, PolicyWeights(1, contract, checksum(data), True, "", data))
    graph = deploy()
    assert graph.end(120) == 1
    assert f"contract is {contract!r}; expected" in graph.text and "actor failed with exit code 1" in graph.text
