"""Two simulated arms, each under its own namespaces, feed one learner."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from graph import Graph, Listener
from test_stage2 import TRACEBACK

from rlt_ros import msg
from rlt_ros.rl.journal import Journal
from rlt_ros.types import Transition, robot_of

pytestmark = pytest.mark.idle

ARMS = ("arm1", "arm2")
TOPICS = {
    f"/{arm}/{topic}": (kind, None)
    for arm in ARMS
    for topic, kind in {"transition_ack": msg.TransitionAck, "actor_stats": msg.ActorStats}.items()
}


def test_two_robots_feed_one_learner_that_dies_once(
    stage2: Callable[..., Graph], listener: Listener, tmp_path: Path
) -> None:
    start = lambda **given: stage2(domain=listener.domain, practice_minutes=1.0, eval_episodes=1, **given)  # noqa: E731
    gpu = start(role="gpu", robots=",".join(ARMS), run_dir=tmp_path / "gpu")
    graphs = {
        arm: start(role="robot", namespace=arm, robot_namespace=arm, seed=seed, run_dir=tmp_path / arm)
        for seed, arm in enumerate(ARMS, start=1)
    }
    gpu.wait_for(lambda: listener.spin() and all(acknowledged(listener, arm) > 20 for arm in ARMS), 400, "rows of both")
    learner = gpu.node("learner")
    learner.kill()
    gpu.wait_for(lambda: listener.spin() and (p := gpu.node("learner")) and p.pid != learner.pid, 60, "a new learner")
    for arm, graph in graphs.items():
        graph.wait_for(
            lambda g=graph: listener.spin() and (g.run_dir / "summary.json").exists(), 600, f"{arm}'s summary"
        )
        assert graph.end(60) == 0 and TRACEBACK not in graph.text
    assert gpu.end(60) == 0 and TRACEBACK not in gpu.text
    assert "the session of arm1 is over" in gpu.text and ", 0 of 2 go on" in gpu.text
    check(graphs, gpu.run_dir)


def acknowledged(listener: Listener, arm: str) -> int:
    """Rows of an arm that the learner has safe."""
    ack = listener.newest(f"/{arm}/transition_ack")
    return 0 if ack is None else ack.ack_id


def check(graphs: dict[str, Graph], learned: Path) -> None:
    """Rows of both arrived once each, in order, and both drove with what was learned from them."""
    rows: dict[str, list[Transition]] = defaultdict(list)
    for row in Journal(learned / "transitions"):
        rows[robot_of(row.stream)].append(row)
    assert set(rows) == set(graphs)
    for arm, graph in graphs.items():
        summary = json.loads((graph.run_dir / "summary.json").read_text())
        published = summary["transitions"]["published"]
        assert summary["transitions"]["received"] == published > 20
        assert [row.id for row in rows[arm]] == list(range(1, published + 1))
        assert len({row.stream for row in rows[arm]}) == 1
        assert summary["weights"]["applied"] >= 1
        assert any(row.weights_version > 0 for row in rows[arm]), "it drove with learned weights"
    starts = [rows[arm][0].features[0].proprio for arm in graphs]
    assert not np.allclose(*starts), "different seeds, different start states"
