"""The collector: records demonstrations into a LeRobot dataset while the robot is driven; commands nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from sensor_msgs.msg import Image

from rlt_ros import msg
from rlt_ros.loop.collect_dataset import DatasetConfig, check_place, open_dataset, write_run
from rlt_ros.loop.collection import CollectorStatus
from rlt_ros.loop.collector import Collector, summary_text
from rlt_ros.loop.pictures import FullPictures
from rlt_ros.loop.recording import MEGABYTE, RecordingThread
from rlt_ros.nodes import qos
from rlt_ros.nodes.collect_status import status_to_message
from rlt_ros.nodes.convert import event_from_message, header, mode_from_message, stamp_of, step_from_message
from rlt_ros.nodes.convert_robot import image_from_message, observation_from_message
from rlt_ros.nodes.diagnostics import Reports
from rlt_ros.nodes.parameters import declare, declare_dataclass
from rlt_ros.nodes.runtime import BaseNode, run
from rlt_ros.ranges import Count, Positive
from rlt_ros.robot.config import load_robot
from rlt_ros.types import Observation

LOOK_EVERY = 0.05
REPORT_EVERY = 1.0
LAST_WRITE = 4.0
"""Seconds that a clean end may take: launch kills a node after about ten."""
EXIT_CODE = 4
"""Of a collector that cannot record any more and was told to end then."""


class CollectorNode(BaseNode):
    """Topics around `Collector`; ends by itself when enough demonstrations were saved."""

    def __init__(self) -> None:
        super().__init__("collector")
        self._robot = load_robot(declare(self, "robot_config", "", "Robot config; empty: Franka Research 3."))
        self._config = declare_dataclass(self, DatasetConfig)
        self._wanted = declare(self, "episodes", 0, "End after so many saved demonstrations; 0: no end.", Count)
        self._keep = declare(self, "keep_failures", False, "Keep demonstrations that were labelled a failure.")
        self._backlog = declare(self, "backlog_mb", 512, "Pictures that may wait for the encoder [MB].", Positive)
        self._end_on_failure = declare(self, "end_on_failure", False, "End the run when nothing can be recorded.")
        full = declare(self, "full_pictures", False, "Pictures as the cameras give them, not at policy resolution.")
        check_place(self._config)
        self._folder = Path(self._config.out).expanduser().resolve()
        self._full = FullPictures(self._robot.cameras, exact=self.lockstep) if full else None
        self._collector: Collector | None = None
        self._said: CollectorStatus | None = None
        self._status = self.create_publisher(DiagnosticStatus, "collector_status", qos.LATCHED)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", qos.STATS)
        self._connect()
        Reports(self, self._robot.name)

    def _connect(self) -> None:
        self.listen_live(msg.Observation, "observation", self._on_observation, qos.STEP)
        self.listen(msg.ExecutedStep, "executed_step", self._on_executed, qos.STEP)
        self.listen_live(msg.PolicyMode, "policy_mode", self._on_mode, qos.STEP)
        self.listen(msg.EpisodeEvent, "episode_event", self._on_event, qos.EVENTS)
        if self._full is not None:
            # In lockstep a picture that is lost never comes again, and the simulator offers reliable ones.
            profile = qos.STEP if self.lockstep else qos.SENSOR
            for name, topic in self._robot.cameras.items():
                self.listen(Image, self.robot_topic(topic), lambda m, name=name: self._on_image(name, m), profile)
        self.every(LOOK_EVERY, self._on_look)
        self.every(REPORT_EVERY, self._on_report)

    # what comes in

    def _on_observation(self, message: msg.Observation) -> None:
        observation = observation_from_message(message)
        self._take([observation] if self._full is None else self._full.observation(observation))

    def _on_image(self, camera: str, message: Image) -> None:
        self._take(self._full.picture(camera, stamp_of(message.header), image_from_message(message)))

    def _take(self, observations: list[Observation]) -> None:
        for observation in observations:
            if self._collector is None and not self._open(observation):
                return
            self._collector.joiner.observation(observation)

    def _open(self, first: Observation) -> bool:
        try:
            writer, form = open_dataset(self._config, self._robot, first)
        except (ValueError, OSError, ImportError) as error:
            self.get_logger().fatal(str(error))
            self.finish(1)
            return False
        recording = RecordingThread(writer, form, self._folder, self._backlog * MEGABYTE)
        self._collector = Collector(recording, self._wanted, self._keep)
        return True

    def _on_executed(self, message: msg.ExecutedStep) -> None:
        if self._collector is not None:
            self._collector.joiner.executed(step_from_message(message))

    def _on_mode(self, message: msg.PolicyMode) -> None:
        if self._collector is not None:
            self._collector.joiner.word(mode_from_message(message))

    def _on_event(self, message: msg.EpisodeEvent) -> None:
        if self._collector is not None:
            self._collector.joiner.event(event_from_message(message))

    # what goes out

    def _on_look(self) -> None:
        if self._collector is None or self.exit_code is not None:
            return
        self._tell(*self._collector.poll())
        if self._collector.finished:
            # The status would let a scripted person begin the next one.
            self.finish(0)
            return
        status = self._collector.status
        if self._said is None or replace(status, backlog=0) != replace(self._said, backlog=0):
            self._said = status
            self._status.publish(status_to_message(status, str(self._folder)))
        if status.failure and self._end_on_failure:
            self.finish(EXIT_CODE)

    def _tell(self, told: list[str], warned: list[str]) -> None:
        for line in told:
            self.get_logger().info(line)
        for line in warned:
            self.get_logger().error(line)

    def _on_report(self) -> None:
        if self._collector is None:
            self.get_logger().warning("waiting for the first observation", throttle_duration_sec=10.0)
            return
        message = status_to_message(self._collector.status, str(self._folder))
        stamp = self.get_clock().now().nanoseconds
        self._diagnostics.publish(DiagnosticArray(header=header(stamp), status=[message]))

    def close(self) -> None:
        if self._collector is None:
            print("no observation has come: there is no dataset", flush=True)
            return
        if not self._collector.close(LAST_WRITE):
            self.get_logger().error("the last demonstration took too long to write and is lost")
        summary = self._collector.summary()
        try:
            write_run(self._folder, summary)
        except OSError as error:
            self.get_logger().error(f"{self._folder}: {error}")
        print(summary_text(summary, str(self._folder)), flush=True)


def main() -> None:
    """Entry point."""
    run(CollectorNode)
