"""Feature extraction: one seeded pass of the frozen VLA and the RL token for each observation that is needed."""

from __future__ import annotations

import threading
import time
import traceback
from collections import OrderedDict

from rlt_ros import msg
from rlt_ros.loop.passes import PassQueue
from rlt_ros.nodes import qos
from rlt_ros.nodes.convert import features_to_message
from rlt_ros.nodes.convert_robot import observation_from_message
from rlt_ros.nodes.diagnostics import Diagnostics, Reports
from rlt_ros.nodes.link import LinkAnswer
from rlt_ros.nodes.parameters import declare
from rlt_ros.nodes.runtime import ManagedNode, run
from rlt_ros.nodes.witness import with_lease
from rlt_ros.ranges import Positive, Seed
from rlt_ros.robot.config import load_robot
from rlt_ros.types import Features, Observation
from rlt_ros.vla.contract import VLAUnavailable

KEPT_FEATURES = 600
RETRY = 0.1
"""Seconds between passes while the VLA does not answer, and until an announced observation is waited for no longer; a
new observation is tried at once."""


class FeaturesNode(ManagedNode):
    """Passes run in a worker thread, so that observations are received and kept meanwhile."""

    def __init__(self) -> None:
        super().__init__("features")
        self._checkpoint = declare(self, "checkpoint", "", "Directory of the Stage-1 checkpoint.")
        self._robot_config = declare(self, "robot_config", "", "Robot config; empty: Franka Research 3.")
        self._task = declare(self, "task", "", "Task that the checkpoint must have been made for; empty: any.")
        self._seed = declare(self, "seed", 0, "Seed of the VLA's flow noise, together with the observation's id.", Seed)
        self._device = declare(self, "device", "cpu", "Device of torch for VLA and RL token, such as cuda.")
        self._vla_url = declare(self, "vla_url", "", "ws://host:port of a VLA server; empty: as the checkpoint says.")
        self._threads = declare(self, "threads", 1, "torch threads.", Positive)
        stride = declare(self, "stride", 2, "Every n-th step of an episode gets a pass without being asked.", Positive)
        self._queue = PassQueue(stride, ordered=self.lockstep)
        self._published: OrderedDict[int, msg.Features] = OrderedDict()
        self._condition = threading.Condition()
        self._worker: threading.Thread | None = None
        self._failure, self._took = "", None

    def setup(self) -> None:
        from rlt_ros.token.checkpoint import load_stage1
        from rlt_ros.token.extractor import FeatureExtractor

        if not self._checkpoint:
            raise ValueError("parameter checkpoint is empty; expected the directory of a Stage-1 checkpoint")
        stage1 = load_stage1(self._checkpoint, self._device, self._vla_url)
        stage1.contract.check_robot(load_robot(self._robot_config))
        if self._task:
            stage1.contract.check_task(self._task)
        self._contract = stage1.contract.fingerprint
        self._extractor = FeatureExtractor(stage1, self._seed, threads=self._threads)
        LinkAnswer(self, (self.get_namespace().strip("/"),), self._contract)
        self._publisher = self.create_publisher(msg.Features, "features", with_lease(qos.STEP))
        self.listen(msg.Observation, "observation", self._on_observation, qos.STEP)
        self.listen(msg.FeaturesRequest, "features_request", self._on_request, qos.STEP)
        Reports(self, tell=self._diagnose)

    def _diagnose(self, say: Diagnostics) -> None:
        waiting, took = len(self._queue), self._took
        last = "none yet" if took is None else f"{1e3 * took:.1f} ms"
        say.say("passes", self._failure, last_pass=last, waiting=waiting, kept=len(self._published))

    def start(self) -> None:
        self._worker = threading.Thread(target=self._work, name="passes", daemon=True)
        self._worker.start()

    def stop(self) -> None:
        with self._condition:
            self._condition.notify()
        if self._worker is not None:
            self._worker.join()
            self._worker = None

    def _on_observation(self, message: msg.Observation) -> None:
        observation = observation_from_message(message)
        with self._condition:
            if self._queue.add(observation):
                self._condition.notify()
            else:
                self._publish_again(observation.id)

    def _on_request(self, message: msg.FeaturesRequest) -> None:
        with self._condition:
            missing = [n for n in message.ids if not self._publish_again(n)]
            unknown = self._queue.request(missing, bool(message.urgent))
            self._condition.notify()
        if unknown:
            raise ValueError(f"observations {unknown} were requested but are not kept any more")

    def _publish_again(self, number: int) -> bool:
        if number not in self._published:
            return False
        if self.active:
            self._publisher.publish(self._published[number])
        return True

    def _work(self) -> None:
        while self.active:
            with self._condition:
                self._condition.wait_for(lambda: len(self._queue) or not self.active)
                batch = self._queue.take() or self._queue.take(wait=self._condition.wait(RETRY))
            if batch and self.active:
                self._pass(batch)

    def _pass(self, batch: list[Observation]) -> None:
        began = time.monotonic()
        try:
            results = self._extractor.features(batch)
        except ValueError as error:
            self.refused["observation"] += len(batch)
            self.get_logger().error(f"observation {batch[0].id}: {error}", throttle_duration_sec=1.0)
        except VLAUnavailable as error:
            # Without features there is no chunk, and the arm holds.
            self._failure = f"no features: {error}"
            self.get_logger().error(self._failure, throttle_duration_sec=1.0)
            self._try_later(batch)
        except Exception:
            # A dead worker in a living node would be an arm that holds for ever without a word.
            self.get_logger().fatal(traceback.format_exc())
            self.finish(1)
        else:
            self._failure, self._took = "", time.monotonic() - began
            with self._condition:
                for features in results:
                    self._publish(features)

    def _try_later(self, batch: list[Observation]) -> None:
        with self._condition:
            self._queue.request(observation.id for observation in batch)
            self._condition.wait(RETRY)

    def _publish(self, features: Features) -> None:
        message = features_to_message(features, self._contract)
        self._published[features.id] = message
        if len(self._published) > KEPT_FEATURES:
            self._published.popitem(last=False)
        self._publisher.publish(message)


def main() -> None:
    """Entry point."""
    run(FeaturesNode)
