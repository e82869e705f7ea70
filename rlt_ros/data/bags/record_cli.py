"""Record a run: `ros2 bag record` with a profile of topics, a floor of free space, and a count of what was lost.

Whatever becomes of the recording, the run that is recorded is not touched.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from rlt_ros.data.bags.child import start
from rlt_ros.data.bags.counts import TopicCount, text
from rlt_ros.data.bags.profile import Recorded, absolute, load_profile, resolve
from rlt_ros.data.bags.recording_files import FileCounts
from rlt_ros.files import write_whole
from rlt_ros.robot.config import load_robot

LOOK_EVERY = 1.0
CLOSES_WITHIN = 60.0
COUNTING_NICE = 10
GB = 1e9


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns 0, or 1 with the reason if not all of the run was recorded."""
    args = parser().parse_args(argv)
    try:
        robot = load_robot(args.robot_config)
        recorded = resolve(load_profile(args.profile), robot, args.namespace, args.robot_namespace)
        return Recording(args, recorded).run()
    except (ValueError, OSError, ImportError) as error:
        print(f"record: {error}; the run goes on without a bag", file=sys.stderr, flush=True)
        return 1


class Recording:
    """One recording, from its first message to the table of what was lost."""

    def __init__(self, args: argparse.Namespace, recorded: Recorded) -> None:
        self._args, self._recorded = args, recorded
        self._bag: Path = args.out
        self._ended = threading.Event()
        self._faults: list[str] = []

    def run(self) -> int:
        """Record until SIGINT, SIGTERM or SIGHUP."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self._ended.set())
        self._bag.parent.mkdir(parents=True, exist_ok=True)
        if self._below_floor():
            print(f"record: not begun: {self._faults[0]}; the run goes on", file=sys.stderr, flush=True)
            return 1
        counts = FileCounts(self._bag)
        recorder = start(self._command())
        os.nice(COUNTING_NICE)  # counting, not recording
        try:
            self._watch(recorder)
        finally:
            self._end(recorder)
        counts.finish()
        self._faults += counts.faults
        self._report(counts)
        return 1 if self._faults else 0

    def _command(self) -> list[str]:
        command = ["ros2", "bag", "record", "-o", str(self._bag), "--storage", "mcap"]
        command += ["--storage-preset-profile", "zstd_fast", "--disable-keyboard-controls"]
        command += ["--max-bag-size", str(self._args.split_mb * 10**6)]
        if self._recorded.qos:
            overrides = self._bag.with_name(f"{self._bag.name}_qos.yaml")
            write_whole(overrides, yaml.safe_dump(self._recorded.qos).encode())
            command += ["--qos-profile-overrides-path", str(overrides)]
        return [*command, "--topics", *self._recorded.topics]

    def _watch(self, recorder: subprocess.Popen) -> None:
        while not self._ended.wait(LOOK_EVERY):
            if recorder.poll() is not None:
                self._fault(f"the recorder has ended by itself, exit code {recorder.returncode}")
                return
            if self._below_floor():
                print(f"record: stopped: {self._faults[-1]}; the run goes on", file=sys.stderr, flush=True)
                return

    def _below_floor(self) -> bool:
        free, floor = shutil.disk_usage(self._bag.parent).free, self._args.floor_gb * GB
        if free >= floor:
            return False
        place, setting = self._bag.parent, f"{self._args.floor_gb:g} GB (record_floor_gb)"
        self._faults.append(f"{free / GB:.2f} GB are free for {place}, the floor is {setting}")
        return True

    def _end(self, recorder: subprocess.Popen) -> None:
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        try:
            recorder.wait(CLOSES_WITHIN)
        except subprocess.TimeoutExpired:
            recorder.kill()
            self._fault(f"the recorder did not end within {CLOSES_WITHIN:g} s: `ros2 bag reindex {self._bag}`")

    def _fault(self, text: str) -> None:
        self._faults.append(text)
        print(f"record: {text}; the run goes on", file=sys.stderr, flush=True)

    def _report(self, counts: FileCounts) -> None:
        summary = self._bag.parent / "summary.json"
        known = json.loads(summary.read_text()) if summary.is_file() else {}
        rows = known.get("transitions", {}).get("published")
        published = {} if rows is None else {absolute(self._args.namespace, "transition"): rows}
        table = counts.counting.table(published)
        print(f"record: {self._bag}\n{text(table)}", flush=True)
        found = _figures(table, self._faults)
        write_whole(self._bag.with_name(f"{self._bag.name}_counts.json"), _json(found))
        if known:
            write_whole(summary, _json(known | {"recording": found}))


def _figures(table: list[TopicCount], faults: list[str]) -> dict[str, Any]:
    return {
        "complete": not faults and not any(count.lost for count in table),
        "faults": faults,
        "topics": {count.topic: {k: v for k, v in asdict(count).items() if k != "topic"} for count in table},
    }


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    result = argparse.ArgumentParser(
        prog="record", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = result.add_argument
    add("--out", type=Path, required=True, metavar="BAG", help="bag to create; must not exist")
    add("--profile", type=Path, required=True, metavar="YAML", help="topics and QoS, such as config/record/full.yaml")
    add("--robot-config", default="", metavar="YAML", help="robot config; default: the FR3's")
    add("--namespace", default="rlt", help="of this package's topics (default: %(default)s)")
    add("--robot-namespace", default="", help="of the robot's own topics")
    add("--floor-gb", type=float, default=2.0, help="free space below which recording stops (default: %(default)g)")
    add("--split-mb", type=int, default=1000, help="size of the bag's files (default: %(default)d)")
    return result


if __name__ == "__main__":
    sys.exit(main())
