"""The files of a bag while it is recorded: those that are finished are counted, while the recorder writes the next."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from rlt_ros.data.bags.bag import Bag
from rlt_ros.data.bags.counts import Counting
from rlt_ros.data.bags.errors import BagError


class FileCounts:
    """Counts in a thread of its own. bag: directory of the bag, which need not be there yet."""

    def __init__(self, bag: Path) -> None:
        self._bag = bag
        self.counting = Counting()
        self.faults: list[str] = []
        self._counted: set[Path] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="counts", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Count what is left: the recorder has ended."""
        self._ended.set()
        self._thread.join()
        self._count(self._files())

    def _run(self) -> None:
        while not self._ended.wait(2.0):
            self._count(self._files()[:-1])  # the newest is being written

    def _files(self) -> list[Path]:
        return sorted(self._bag.glob("*.mcap"), key=_number)

    def _count(self, paths: list[Path]) -> None:
        for path in paths:
            if path not in self._counted:
                self._counted.add(path)
                try:
                    count_file(path, self.counting)
                except BagError as error:
                    self.faults.append(str(error))


def count_file(path: Path, counting: Counting) -> None:
    """Add a bag, or one file of it. Raises BagError where it cannot be read."""
    with Bag(path) as bag:
        read = [topic for topic, kind in bag.kinds.items() if Counting.reads(kind)]
        for topic, messages in bag.counts.items():
            if topic not in read:
                counting.count(topic, messages)
        for raw in bag.raw(read):
            counting.add(raw.topic, raw.kind, bag.message(raw))


def _number(path: Path) -> tuple[int, str]:
    number = re.search(r"_(\d+)\.mcap$", path.name)
    return (int(number[1]) if number else 0, path.name)
