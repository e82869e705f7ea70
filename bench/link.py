"""What crosses the cable between robot PC and GPU PC: messages and bytes per second by topic.

python -m bench.link --seconds 30 [--mbit 20] [--lockstep true]

Needs the rights to make network namespaces. Everything is counted on its sender's machine, so that counting adds
nothing to the traffic. "On the wire" is what the network interfaces have counted, DDS and headers included.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "launch"))

from graph import Graph, Listener, new_domain
from machines import Cable, two_machines, why_not
from rclpy.serialization import serialize_message

from rlt_ros import msg
from rlt_ros.nodes import qos

ROBOT_SENDS = {
    "observation": (msg.Observation, None),
    "features_request": (msg.FeaturesRequest, None),
    "transition": (msg.Transition, qos.TRANSITIONS),
    "clock_request": (msg.ClockExchange, None),
}
GPU_SENDS = {
    "features": (msg.Features, None),
    "transition_ack": (msg.TransitionAck, None),
    "policy_weights": (msg.PolicyWeights, qos.LATCHED),
    "learner_stats": (msg.LearnerStats, None),
    "clock_reply": (msg.ClockExchange, None),
}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to count")
    parser.add_argument("--mbit", type=float, default=0.0, help="limit of the cable; 0: none")
    parser.add_argument("--lockstep", default="false", choices=["true", "false"], help="of the simulator")
    parser.add_argument("--checkpoint", default="", help="Stage-1 checkpoint; empty: the smallest one")
    options = parser.parse_args()
    reason = why_not()
    if reason:
        sys.exit(f"no two machines here: {reason}")
    with two_machines() as cable, tempfile.TemporaryDirectory() as folder:
        if options.mbit:
            cable.limit(options.mbit)
        measure(cable, Path(folder), options)


def smallest_checkpoint() -> str:
    """Path of the smoke preset's checkpoint, from the cache if it is there."""
    command = [sys.executable, "-m", "rlt_ros.token.stage1_cli", "--preset", "smoke"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return made.stdout.strip().splitlines()[-1].removeprefix("stage1: checkpoint at ")


def measure(cable: Cable, folder: Path, options: argparse.Namespace) -> None:
    """Run both sides and print the table."""
    domain, checkpoint = new_domain(), options.checkpoint or smallest_checkpoint()
    sides = [(cable.robot, ROBOT_SENDS), (cable.gpu, GPU_SENDS)]
    listeners = [Listener(under("/rlt", topics), domain, machine) for machine, topics in sides]
    arguments = {"checkpoint": checkpoint, "lockstep": options.lockstep, "practice_minutes": 60}
    graphs = [
        Graph(
            folder / f"{role}.log", arguments | {"role": role, "run_dir": folder / role}, domain=domain, machine=machine
        )
        for role, (machine, _) in zip(("robot", "gpu"), sides, strict=True)
    ]
    try:
        rows = lambda: listeners[0].spin() and listeners[1].spin() and listeners[0].newest("/rlt/transition")  # noqa: E731
        graphs[0].wait_for(rows, 600, "the first rows")
        count(cable, listeners, options.seconds)
    finally:
        for graph in graphs:
            graph.abandon()
        for listener in listeners:
            listener.close()


def under(namespace: str, topics: dict) -> dict:
    """Topics with their namespace."""
    return {f"{namespace}/{name}": kind for name, kind in topics.items()}


def count(cable: Cable, listeners: list[Listener], seconds: float) -> None:
    """Count for a while, then print."""
    for listener in listeners:
        for messages in listener.received.values():
            messages.clear()
    before, begun = [m.counters()["transmitted"] for m in (cable.robot, cable.gpu)], time.monotonic()
    while time.monotonic() - begun < seconds:
        for listener in listeners:
            listener.spin(0.01)
    took = time.monotonic() - begun
    after = [m.counters()["transmitted"] for m in (cable.robot, cable.gpu)]
    print("| from | topic | messages/s | bytes/message | kB/s |\n|---|---|---|---|---|")
    for side, listener, sent in zip(
        ("robot PC", "GPU PC"), listeners, (a - b for a, b in zip(after, before)), strict=True
    ):
        for topic, messages in listener.received.items():
            sizes = [len(serialize_message(m)) for m in messages]
            mean = sum(sizes) / len(sizes) if sizes else 0.0
            print(f"| {side} | `{topic[5:]}` | {len(sizes) / took:.1f} | {mean:.0f} | {sum(sizes) / took / 1e3:.1f} |")
        print(f"| {side} | all, on the wire | | | {sent / took / 1e3:.1f} |")


if __name__ == "__main__":
    main()
