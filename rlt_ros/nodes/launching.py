"""What launch files share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from launch.actions import Shutdown
from launch.events.process import ProcessExited

from launch import LaunchContext
from rlt_ros.operator.rules import Rules
from rlt_ros.strict import load


def end_of(name: str) -> Callable[[ProcessExited, LaunchContext], list]:
    """`on_exit` of a node with which the run ends; one that failed makes the run fail, but for those that are only
    being shut down.
    """

    def ended(event: ProcessExited, context: LaunchContext) -> list:
        if event.returncode != 0 and not context.is_shutdown:
            raise RuntimeError(f"{name} failed with exit code {event.returncode}; its last lines say why")
        return [Shutdown(reason=f"{name} has ended")]

    return ended


def new_directory(path: str, resume: bool = False, otherwise: str = "") -> Path:
    """A run directory, made here; one that is in use is refused here and not after minutes of robot time.

    resume: it must be there. otherwise: what else may be done than to choose another one. Raises RuntimeError.
    """
    run_dir = Path(path).expanduser().resolve()
    if run_dir.exists() and any(run_dir.iterdir()) and not resume:
        raise RuntimeError(f"run_dir {run_dir} exists already: choose another one{otherwise}")
    if resume and not run_dir.is_dir():
        raise RuntimeError(f"run_dir {run_dir} does not exist: there is nothing to resume")
    run_dir.mkdir(parents=True, exist_ok=True)
    return run_dir


def checked_rules(path: str) -> dict[str, str]:
    """The `referee`'s parameter for a file of rules. Raises ConfigError where there are none that make sense."""
    rules = Path(path).expanduser().resolve()
    load(Rules, rules)
    return {"rules": str(rules)}


def chosen_operator(operator: str, simulated: bool) -> bool:
    """Whether a script operates. Raises RuntimeError where it cannot."""
    if operator == "scripted" and not simulated:
        raise RuntimeError("operator:=scripted needs robot:=sim: the script looks at what only a simulator knows")
    return simulated if operator == "auto" else operator == "scripted"


def with_devices(devices: str, lockstep: bool) -> bool:
    """Whether a person's input devices are to be read. Raises RuntimeError where that cannot be."""
    if devices and lockstep:
        raise RuntimeError(f"devices:={devices} needs real time: operator:=person, or lockstep:=false")
    return bool(devices)


INTERFACES = Path("/sys/class/net")
"""Where Linux shows the network interfaces."""
ROBOT_NODES = frozenset({"observation", "actor", "executor", "teleop"})
LEARNING_NODES = frozenset({"features", "learner"})
ALL_NODES = ROBOT_NODES | LEARNING_NODES
_ROLES = {"all": ALL_NODES, "robot": ROBOT_NODES, "gpu": LEARNING_NODES}


def nodes_here(role: str, listed: str, robots: str, simulated: bool) -> frozenset[str]:
    """Names of the nodes that are to run on this machine; the simulated robot runs where the executor does.

    role: all, robot or gpu. listed: names with commas between, instead of a role's. robots: namespaces of several
    robots, likewise. Raises RuntimeError on an unknown name, and where several robots cannot be.
    """
    known = ALL_NODES | ({"sim"} if simulated else set())
    names = frozenset(name.strip() for name in listed.split(",")) if listed.strip() else _ROLES[role]
    if not names <= known:
        raise RuntimeError(f"nodes:={listed} names {sorted(names - known)}; expected some of {sorted(known)}")
    if robots.strip() and names & ROBOT_NODES:
        raise RuntimeError(
            f"robots:={robots} goes with role:=gpu; each robot is started by itself: role:=robot namespace:=its own"
        )
    return names | ({"sim"} if simulated and not listed.strip() and "executor" in names else set())


def split_notice(here: frozenset[str], interfaces: Path = INTERFACES) -> str:
    """What to tell where not all nodes run on this machine, empty otherwise."""
    elsewhere = ALL_NODES - here
    if not elsewhere:
        return ""
    text = f"here: {', '.join(sorted(here))}; on other machines: {', '.join(sorted(elsewhere))}"
    if local_only():
        text += f"; {local_only()}: only this machine's nodes are found"
    down = unplugged(interfaces)
    if down:
        text += f"; no network link is up ({down}): plug in, then start again, or nobody is found"
    return text


def unplugged(interfaces: Path = INTERFACES) -> str:
    """The network interfaces of this machine with their states where none of them can reach another machine, empty
    otherwise. DDS takes up those that it finds running when a node starts."""
    states = {p.name: (p / "operstate").read_text().strip() for p in sorted(interfaces.glob("*")) if p.name != "lo"}
    if not interfaces.is_dir() or any(state in ("up", "unknown") for state in states.values()):
        return ""
    return ", ".join(f"{name}: {state}" for name, state in states.items()) or "none but lo"


def local_only() -> str:
    """The setting of the environment that keeps nodes of other machines from being found, empty if there is none."""
    found = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").upper()
    if found in ("LOCALHOST", "OFF") and not os.environ.get("ROS_STATIC_PEERS"):
        return f"ROS_AUTOMATIC_DISCOVERY_RANGE={found}"
    return "ROS_LOCALHOST_ONLY=1" if os.environ.get("ROS_LOCALHOST_ONLY") == "1" else ""


def own_clock(robot_namespace: str) -> list[tuple[str, str]]:
    """Remappings that keep the clock of one of several simulated robots apart."""
    robot = robot_namespace.strip("/")
    return [("/clock", f"/{robot}/clock")] if robot else []
