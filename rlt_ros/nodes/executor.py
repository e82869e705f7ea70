"""The Franka chunk executor: the only publisher of commands to the controller; says what was really done."""

from __future__ import annotations

import time
from dataclasses import replace

from rlt_ros import msg
from rlt_ros.loop.executor import ChunkExecutor, StepResult
from rlt_ros.loop.heard import Heard, keep_newest, no_word
from rlt_ros.loop.human import HumanCommand
from rlt_ros.loop.motion import Command
from rlt_ros.loop.synchroniser import LatestSynchroniser, Stale, StampSynchroniser
from rlt_ros.loop.watchdogs import Limits
from rlt_ros.nodes import qos
from rlt_ros.nodes.commands import CommandPort
from rlt_ros.nodes.convert import (
    chunk_from_message,
    mode_from_message,
    stamp_of,
    step_to_message,
    vector,
)
from rlt_ros.nodes.convert_robot import Part, robot_state
from rlt_ros.nodes.diagnostics import OK, ROBOT_MODE, Diagnostics, tell_basics
from rlt_ros.nodes.gripper_client import GripperClient
from rlt_ros.nodes.live import Live, LiveConfig
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.recovery import RecoveryClient
from rlt_ros.nodes.reset_client import ResetClient
from rlt_ros.nodes.robot_listener import RobotListener
from rlt_ros.nodes.runtime import ManagedNode, run
from rlt_ros.nodes.side import Side
from rlt_ros.nodes.witness import Witness
from rlt_ros.robot.commands.base import SetPoint
from rlt_ros.robot.config import load_robot
from rlt_ros.robot.sections import one_of
from rlt_ros.robot.state import RobotState
from rlt_ros.types import ACTION_NAMES, Driver, Mode, PolicyMode


class ExecutorNode(ManagedNode):
    """Topics around `loop.executor.ChunkExecutor`: one `executed_step` for every observation.

    In lockstep an observation is answered by one command; in real time set-points follow each other (`nodes.live`).
    """

    def __init__(self) -> None:
        super().__init__("executor")
        self._robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        self._limits = declare_dataclass(self, Limits)
        self._config = declare_dataclass(self, LiveConfig)
        self._resets_by = declare(self, "reset", "teleport", "teleport: ask the simulator; motion: move the arm.")
        one_of("parameter reset", self._resets_by, ("teleport", "motion"))
        self._side: Side | None = None
        self._observation: msg.Observation | None = None
        self._states: dict[int, RobotState] = {}
        self._heard = Heard()
        self._command_of = self._heard.command_for if self.lockstep else self._heard.newest_command
        self._state: RobotState | None = None
        self._state_of: tuple[int, ...] = ()
        self._pending = False
        self._arrived = 0.0
        self._late = ""
        self._alone = self._ill = False
        self._live: Live | None = None

    # lifecycle

    def setup(self) -> None:
        config = self._robot
        self._commands = CommandPort(self, config)
        self._core = ChunkExecutor(
            config,
            lockstep=self.lockstep,
            refuses=self._commands.refuses,
            moves=self._resets_by == "motion",
            max_age=self._config.chunk_max_age,
        )
        self._steps = self.create_publisher(msg.ExecutedStep, "executed_step", qos.EXECUTED)
        self._reset = ResetClient(self, self.robot_topic(config.topics.reset), self._on_reset_done)
        self._side = Side(self, "side")
        self._gripper = GripperClient(self._side, config, self.robot_topic)
        self._recovery = RecoveryClient(self, self._side, config, self._core.recovery)
        self._diagnostics = Diagnostics(self, config.name)
        if not self.lockstep:
            self._witnesses = (
                Witness(self, "features", msg.Features, "features", qos.STEP),
                Witness(self, "actor", msg.ActionChunk, "action_chunk", qos.COMMAND),
            )
            self._live = Live(self, config, self._core, self._limits, self._config, self._diagnostics)
        self._connect_robot()
        self.listen_live(msg.Observation, "observation", self._on_observation, qos.STEP)
        self.listen(msg.ActionChunk, "action_chunk", self._on_chunk, qos.COMMAND)
        self.listen_live(msg.PolicyMode, "policy_mode", self._on_mode, qos.STEP)
        self.listen_live(msg.HumanAction, "human_action", self._on_human, qos.STEP)
        self._start_timers()

    def _connect_robot(self) -> None:
        self._robot_topics = RobotListener(self, self._robot, self._on_robot)
        streams, limit = tuple(self._robot_topics.streams), int(self._limits.watch_state * 1e9)
        self._equal = StampSynchroniser(streams, depth=8) if self.lockstep else None
        self._latest = None if self.lockstep else LatestSynchroniser(streams, limit)

    def _start_timers(self) -> None:
        self.every(1.0, self._on_second)
        if self.lockstep:
            self.every(0.2, self._on_tick)
            return
        self.every(1.0 / self._robot.command.rate, self._on_setpoint)
        self.every(0.01, self._on_look)

    def start(self) -> None:
        self._alone = False
        self._commands.restart()  # somebody else may have moved the arm
        if self._live is not None:
            self._live.begin()

    def stop(self) -> None:
        target = self._core.hold() if self._live is None else self._live.motion.standing
        if target is not None and (self._alone or (self._live is not None and self._live.alone)):
            self._commands.hold(target, None, self.now())

    def close(self) -> None:
        super().close()
        if self._side is not None:
            self._side.close()

    def now(self) -> int:
        """ROS time in ns."""
        return self.get_clock().now().nanoseconds

    # what comes in

    def _on_robot(self, name: str, part: Part) -> None:
        if self._latest is not None:
            self._latest.add(name, part.stamp, part, self.now())
            return
        complete = self._equal.add(name, part.stamp, part)
        if complete is not None:
            keep_newest(self._states, part.stamp, robot_state(complete, self._robot))
            self._advance()

    def _on_observation(self, message: msg.Observation) -> None:
        if self._live is not None:
            self._take_observation(message)
            return
        if self._observation is None or message.id >= self._observation.id:
            # A repeated observation asks for the same answer again: somebody may have missed it.
            self._observation, self._pending = message, True
            self._advance()

    def _take_observation(self, message: msg.Observation) -> None:
        """In real time each one is answered once, and none that is replayed."""
        self._advance(patient=False)
        stamp = stamp_of(message.header)
        age = (self.now() - stamp) / 1e9
        self._core.observe(message.id, stamp)
        if self._observation is None and (message.episode, message.step) != (0, 0):
            self._live.succeed()
        self._late = f"observation: {age:.3f} s old" if age > self._robot.limits.stale_after else ""
        self._observation, self._pending, self._arrived = message, True, time.monotonic()
        self._live.feed("observation")
        self._advance()

    def _on_chunk(self, message: msg.ActionChunk) -> None:
        try:
            self._core.offer(chunk_from_message(message))
        finally:
            self._advance()

    def _on_mode(self, message: msg.PolicyMode) -> None:
        mode = mode_from_message(message)
        self._heard.word(mode)
        if self._live is not None and self._core.sightings.saw(mode.observation_id, mode.stamp):
            self._live.feed("policy")
            self._core.hear(mode)
            if mode.mode is Mode.HOLD and self.active:
                self._live.motion.halt("operator: hold")
        self._advance()

    def _on_human(self, message: msg.HumanAction) -> None:
        action = vector(message.action, len(ACTION_NAMES) if message.action else 0, "action")
        self._heard.command(HumanCommand(message.observation_id, stamp_of(message.header), action))
        if self._live is not None:
            self._live.feed("human")
        self._advance()

    def _on_tick(self) -> None:
        self._reset.poll()
        if self.active:
            self._alone = not self.publishers()
            if not self._alone:
                self.get_logger().warning(f"{self.publishers()}; waiting", throttle_duration_sec=2.0)
        self._advance()

    def _on_look(self) -> None:
        self._reset.poll()
        if self.active:
            word = self._heard.newest_word(self._core.sightings)
            self._live.look(None if word is None else word.mode)
            fault = self._live.fault
            if fault:
                self.get_logger().warning(f"holding: {fault}", throttle_duration_sec=1.0)
        self._advance()

    def _on_setpoint(self) -> None:
        if self.active:
            self._live.tick()

    def _on_second(self) -> None:
        tell_basics(self, self._diagnostics)
        missing = ", ".join(self._commands.missing())
        self._diagnostics.say("command back-end", missing, f"{self._robot.command.backend} on {self._commands.topic}")
        refused = {f"refused_{topic}": count for topic, count in self.refused.items()}
        self._diagnostics.set("counts", OK, "control steps by driver, messages refused", **self._core.counts, **refused)
        live = self._live is not None
        state = self.newest_state()[0] if live else next(reversed(self._states.values()), None)
        self._diagnostics.set(ROBOT_MODE, OK, state.mode.name if state is not None and state.mode is not None else "")
        self._diagnostics.publish()

    # what the real-time part asks for

    def newest_state(self) -> tuple[RobotState | None, str]:
        """The newest measured state, None if it is too old or makes no sense, and then why."""
        try:
            parts = self._latest.snapshot(self.now())
            stamps = tuple(part.stamp for part in parts.values())
            if stamps != self._state_of:
                self._state, self._state_of = robot_state(parts, self._robot), stamps
        except (Stale, ValueError) as error:
            return None, str(error)
        return self._state, ""

    def send(self, command: Command, state: RobotState | None) -> None:
        """The one way to the controller. Raises CommandRefused."""
        if command.still or state is None:
            self._commands.hold(command.pose, state, self.now())
        else:
            self._commands.send([SetPoint(command.pose)], state, self.now())

    def publishers(self) -> str:
        """Why nothing may be sent; empty if this node is the only publisher on the command topic.

        Controllers ignore a command topic with two publishers, and DDS counts a killed one for up to 15 s.
        """
        count = self._commands.publishers()
        return "" if count == 1 else f"publishers: {self._commands.topic} has {count}, this node must be the only one"

    def gone(self) -> str:
        """Nodes behind the policies that do not run any more."""
        return "; ".join(filter(None, (witness.gone for witness in self._witnesses)))

    def silent_topics(self) -> list[str]:
        """Topics of the robot's state that nobody publishes on."""
        return self._robot_topics.absent()

    # what is done

    def _advance(self, patient: bool = True) -> None:
        observation = self._observation
        if not (self.active and self._pending and (self._alone or self._live is not None)):
            return
        waited = time.monotonic() - self._arrived
        state, mode = self._inputs(observation, patient and waited < self._config.wait_for_word)
        if state is None or mode is None:
            return
        result = self._core.step(
            observation.id,
            stamp_of(observation.header),
            observation.episode,
            observation.step,
            state,
            mode,
            self._command_of(observation.id),
            patient=patient and waited < self._config.wait_for_chunk,
            standing=None if self._live is None else self._live.motion.standing,
            fault="" if self._live is None else self._fault(mode),
        )
        self._watch_recovery()
        if result is not None:
            self._carry_out(observation, mode, state, result)

    def _watch_recovery(self) -> None:
        ill, self._ill = self._ill, bool(self._core.recovery.reason)
        if ill and not self._ill:
            self._commands.restart()

    def _inputs(self, observation: msg.Observation, patient: bool) -> tuple[RobotState | None, PolicyMode | None]:
        stamp, word = stamp_of(observation.header), self._heard.word_for(observation.id)
        if self._live is None:
            return self._states.get(stamp), word
        state = self.newest_state()[0] or self._state
        if word is not None and word.stamp == stamp:
            return state, word
        return state, None if patient else self._heard.newest_word(self._core.sightings) or no_word(stamp)

    def _fault(self, mode: PolicyMode) -> str:
        if mode.observation_id == 0:
            return "operator: no word has come"
        return "; ".join(filter(None, (self._live.fault, self._late)))

    def _carry_out(self, observation: msg.Observation, mode: PolicyMode, state: RobotState, result: StepResult) -> None:
        if result.wants_reset:
            self._reset.request(mode.reset_seed)
            return
        self._pending = False
        if result.gripper is not None:
            self._gripper.command(result.gripper)
        self._command(result, state, stamp_of(observation.header))
        sent = self._live is None or self._live.alone
        executed = result.executed if sent else replace(result.executed, commanded=False)
        self._steps.publish(step_to_message(executed))
        if executed.reason and not executed.reason.startswith("operator:"):
            self.get_logger().warning(f"holding: {executed.reason}", throttle_duration_sec=1.0)

    def _command(self, result: StepResult, state: RobotState, stamp: int) -> None:
        if self._live is not None:
            self._live.follow(result, state)
        elif result.target is not None and result.executed.driver is Driver.HOLD:
            self._commands.hold(result.target, state, stamp)
        elif result.target is not None:
            self._commands.send([SetPoint(result.target)], state, stamp)

    def _on_reset_done(self, ok: bool) -> None:
        self._commands.restart()
        self._core.reset_finished(ok)
        self._advance()


def main() -> None:
    """Entry point."""
    run(ExecutorNode)
