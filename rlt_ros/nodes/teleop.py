"""The policy switch: alone publishes `policy_mode`; whatever it does, it is asked for through its services."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlt_ros import msg, srv
from rlt_ros.loop.conductor import Conductor
from rlt_ros.loop.phase import PhaseMachine
from rlt_ros.loop.report import News, status_line
from rlt_ros.loop.requests import LABEL_REQUESTS, MODE_REQUESTS, Request
from rlt_ros.loop.session import Session, SessionConfig
from rlt_ros.loop.session_file import SessionFile
from rlt_ros.loop.starts import StartPoses
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import event_to_message, mode_to_message, stamp_of, step_from_message
from rlt_ros.nodes.diagnostics import WARN, Diagnostics, Reports
from rlt_ros.nodes.finale import Finale
from rlt_ros.nodes.link import HOST
from rlt_ros.nodes.operator_status import StatusPublisher
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.run_log import RunLogTap
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.nodes.scripted import PractisingPerson, ScriptedPerson
from rlt_ros.operator.board import StatusBoard
from rlt_ros.operator.coach import next_press
from rlt_ros.robot.config import load_robot
from rlt_ros.types import PROPRIO_NAMES, Mode

STATUS_EVERY, STATUS_AGAIN = 2.0, 20.0
"""Seconds between two looks at the status, and between two lines that say the same."""


@dataclass(frozen=True)
class Seen:
    """The newest observation, without its images."""

    id: int
    stamp: int
    episode: int


class TeleopNode(BaseNode):
    """Topics and services around `Conductor`; in simulation a scripted person uses the services."""

    def __init__(self) -> None:
        super().__init__("teleop")
        self.robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        self._scripted = declare(self, "scripted", False, "A scripted operator in a person's place; needs sim/truth.")
        self.control_rate = self.robot.control_rate
        self._kept: SessionFile | None = None
        self._finale: Finale | None = None
        self.run_dir = Path()
        self.actor: msg.ActorStats | None = None
        self.learner: msg.LearnerStats | None = None
        self.links: dict[str, msg.LinkStats] = {}
        self.conductor = self.make_conductor()
        self._status = StatusPublisher(self, self.make_board(), self.warnings)
        self._seen: Seen | None = None
        self._answered: msg.PolicyMode | None = None
        self._person = self.make_person() if self._scripted else None
        self._log = RunLogTap(self, self.run_dir, self.lockstep, self.control_rate)
        self._connect()
        Reports(self, self.robot.name, self._diagnose)

    def make_conductor(self) -> Conductor:
        """The session that this node leads."""
        config = declare_dataclass(self, SessionConfig, control_rate=self.control_rate)
        self.listen_to_statistics()
        self._finale = Finale(self)
        self.run_dir = self._finale.run_dir
        machine, session, starts = PhaseMachine(self._gate), Session(config, self._gate), self.make_starts()
        launch = declare(self, "launch_id", "", "A name of this launch: started again in it, go on in its session.")
        if launch and self._finale.run_dir.name:
            self._kept = SessionFile(self._finale.run_dir / "session.json", launch)
        state = self._kept.read() if self._kept else None
        if state is None:
            return Conductor(machine, session, starts)
        self.get_logger().warning("taking up the session of a node that was lost; the arm holds until somebody asks")
        return Conductor.take_up(machine, session, state, starts)

    def listen_to_statistics(self) -> None:
        """What actor, learner and links say of themselves."""
        self.listen(msg.ActorStats, "actor_stats", self._on_actor_stats, qos.STATS)
        self.listen(msg.LearnerStats, "learner_stats", self._on_learner_stats, qos.STATS)
        self.listen(msg.LinkStats, "link_stats", self._on_link_stats, qos.STATS)

    def make_starts(self) -> StartPoses:
        """Poses to practise from."""
        help_text = "The simulator resets by itself, so that there are no poses to practise from."
        return StartPoses(self.robot, declare(self, "teleports", False, help_text))

    def make_board(self) -> StatusBoard:
        """What collects the facts of `operator_status`."""
        return StatusBoard(self.conductor, self.control_rate, self._learners_gate)

    def warnings(self) -> list[str]:
        """What the operator should know beside what the board sees."""
        return []

    def make_person(self) -> ScriptedPerson:
        """The scripted person in the operator's place."""
        return PractisingPerson(self, self.robot, self.conductor.session.config.seed)

    def _connect(self) -> None:
        self._modes = self.create_publisher(msg.PolicyMode, "policy_mode", qos.STEP)
        self._events = self.create_publisher(msg.EpisodeEvent, "episode_event", qos.EVENTS)
        self.listen_live(msg.Observation, "observation", self._on_observation, qos.STEP)
        self.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.STEP)
        self.create_service(srv.SetPolicyMode, "set_policy_mode", self._on_set_mode)
        self.create_service(srv.LabelEpisode, "label_episode", self._on_label)
        self._news = News(STATUS_AGAIN)
        self.every(STATUS_EVERY, self._on_status)

    def _gate(self) -> tuple[bool, str]:
        # The scripted person asks for RL throughout and the actor, which has the weights, falls back to the VLA: so the
        # course of a run does not depend on when the statistics arrive.
        return (True, "") if self._scripted else self._learners_gate()

    def _learners_gate(self) -> tuple[bool, str]:
        if self.learner is None:
            return False, "no word from the learner yet"
        return bool(self.learner.gate_open), str(self.learner.gate_reason)

    # what comes in

    def _on_observation(self, message: msg.Observation) -> None:
        if self._answered is not None and message.id == self._answered.observation_id:
            self._modes.publish(self._answered)
            if self._person is not None:
                self._person.repeat(message.id)
            return
        if self.conductor.starts and len(message.proprio) == len(PROPRIO_NAMES):
            self.conductor.starts.look(message.proprio)
        self._seen = Seen(message.id, stamp_of(message.header), message.episode)
        self._log.observation(message)
        self.go_on()

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        step = step_from_message(message)
        self.conductor.add_executed(step)
        self._status.executed(step)
        self._log.executed(step)
        if self._person is not None:
            self._person.follow(step)
        self.go_on()

    def _on_actor_stats(self, message: msg.ActorStats) -> None:
        self.actor = message
        self._status.board.actor.take(message)

    def _on_learner_stats(self, message: msg.LearnerStats) -> None:
        self.learner = message
        self._status.board.learner.take(message)

    def _on_link_stats(self, message: msg.LinkStats) -> None:
        self.links[message.node] = message

    # services

    def _on_set_mode(self, request: Any, response: srv.SetPolicyMode.Response) -> srv.SetPolicyMode.Response:
        if request.mode >= len(MODE_REQUESTS):
            highest = len(MODE_REQUESTS) - 1
            response.success, response.message = False, f"mode is {request.mode}; expected 0 to {highest}"
            return response
        self._answer(MODE_REQUESTS[request.mode], response)
        if request.mode == Mode.HOLD and self._answered is not None and not self.lockstep:
            # A stop does not wait for the next observation.
            self._answered.mode = int(Mode.HOLD)
            self._modes.publish(self._answered)
        return response

    def _on_label(self, request: Any, response: srv.LabelEpisode.Response) -> srv.LabelEpisode.Response:
        if request.label >= len(LABEL_REQUESTS):
            highest = len(LABEL_REQUESTS) - 1
            response.success, response.message = False, f"label is {request.label}; expected 0 to {highest}"
            return response
        return self._answer(LABEL_REQUESTS[request.label], response)

    def _answer(self, request: Request, response: Any) -> Any:
        answer = self.conductor.request(request)
        response.success, response.message = bool(answer.accepted), str(answer.message)
        self._status.answered(request, answer)
        return response

    # what goes out

    def go_on(self) -> None:
        """Give the word for the newest observation as soon as all is known that it depends on."""
        seen = self._seen
        if seen is None or (self.lockstep and not self._counted(seen)):
            return
        if self._person is not None and not self._person.ready(seen.stamp):
            return
        self._seen = None
        word = self.conductor.observe(seen.id, seen.stamp, seen.episode)
        for event in word.events:
            self._events.publish(event_to_message(event))
        self._answered = mode_to_message(word.mode)
        self._modes.publish(self._answered)
        self._status.said(word)
        self._log.said(word)
        if self._person is not None and word.mode.mode is Mode.HUMAN:
            self._person.drive(word.mode)
        self._keep_session()
        if self.conductor.finished:
            self._finale.begin()

    def _keep_session(self) -> None:
        if self._kept is None:
            return
        try:
            self._kept.write(self.conductor)
        except OSError as error:
            self.get_logger().error(f"the session is not kept: {error}", throttle_duration_sec=10.0)

    def _diagnose(self, say: Diagnostics) -> None:
        machine, progress = self.conductor.machine, self.conductor.session.progress
        warnings = "; ".join(self.warnings())
        text = f"{progress.stage}, {machine.phase.name}, {machine.mode.name} asked for"
        say.say("session", warnings, text, WARN, episode=progress.episode, robot_steps=self.conductor.robot_steps)

    def close(self) -> None:
        self._log.close(self.exit_code)
        if self.exit_code is None:
            self.interrupted()

    def interrupted(self) -> None:
        """The session has not come to its end: say where it stood."""
        where = f"; run directory {self.run_dir}" if self.run_dir.name else ""
        print(f"interrupted: {self.status_line()}{where}", flush=True)
        if self._finale is not None:
            self._finale.interrupted()

    def _counted(self, seen: Seen) -> bool:
        done = self.conductor.executed
        return seen.id == 1 or (done is not None and done.observation_id == seen.id - 1)

    def _on_status(self) -> None:
        line = self.status_line()
        if self._news.worth(line):
            print(line, flush=True)

    def status_line(self) -> str:
        """Where the session stands, for the terminal."""
        progress = self.conductor.session.progress
        elsewhere = [link for link in self.links.values() if link.host != HOST]
        done, machine = self.conductor.executed, self.conductor.machine
        driver = None if done is None else done.driver
        line = status_line(progress, self.control_rate, self.actor, self.learner, elsewhere, driver)
        waits_for = "" if self.conductor.finished else next_press(machine.phase, machine.mode)
        return f"{line} | {waits_for}" if waits_for and not self._scripted else line


def main() -> None:
    """Entry point."""
    run(TeleopNode)
