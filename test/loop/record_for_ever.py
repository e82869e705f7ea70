"""Records demonstrations of five frames into a new dataset until it is killed; prints how many were saved."""

from __future__ import annotations

import sys
from pathlib import Path

from demonstrations import label, observation, step, word
from loop_parts import ROBOT

from rlt_ros.loop.collect_dataset import DatasetConfig, open_dataset
from rlt_ros.loop.collector import Collector
from rlt_ros.loop.recording import RecordingThread


def main(out: Path, storage: str) -> None:
    writer, form = open_dataset(DatasetConfig(out=str(out), storage=storage), ROBOT, observation(1))
    collector = Collector(RecordingThread(writer, form, out, floor=0))
    number, phase_id = 0, 0
    while True:
        phase_id += 1
        for inside in (0, *[phase_id] * 5):
            number += 1
            joiner = collector.joiner
            joiner.observation(observation(number))
            joiner.word(word(number, inside))
            joiner.executed(step(number, inside))
        joiner.event(label(number + 1, phase_id))
        while collector.status.backlog:
            collector.poll()
        collector.poll()
        print(collector.tally.saved, flush=True)


main(Path(sys.argv[1]), sys.argv[2])
