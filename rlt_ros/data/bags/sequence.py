"""Numbers of a stream whose sender counts one by one, and which of them did not come (field report B33)."""

from __future__ import annotations

NUMBERED = {
    "rlt_ros/msg/Observation": "id",
    "rlt_ros/msg/ExecutedStep": "observation_id",
    "rlt_ros/msg/PolicyMode": "observation_id",
    "rlt_ros/msg/Transition": "id",
}
"""Types whose publishers count one by one, and the field that has the number."""


class Sequence:
    """Order does not matter, and what is sent again counts once. Where numbers begin anew under newer stamps, another
    run has begun."""

    def __init__(self) -> None:
        self._runs: list[set[int]] = [set()]
        self._highest, self._newest = 0, 0

    def add(self, number: int, stamp: int) -> None:
        """Take the number of a message. stamp: ns."""
        if self._runs[-1] and number <= self._highest and stamp > self._newest:
            self._runs.append(set())
            self._highest = 0
        self._runs[-1].add(number)
        self._highest, self._newest = max(self._highest, number), max(self._newest, stamp)

    def __len__(self) -> int:
        """Different numbers that came."""
        return sum(map(len, self._runs))

    def lost(self, from_one: bool = False) -> int:
        """Numbers between the first and the last of each run that did not come. from_one: the first ought to be 1."""
        return sum(max(run) - (1 if from_one else min(run)) + 1 - len(run) for run in self._runs if run)

    @property
    def spans(self) -> str:
        """First and last number of each run."""
        return ", ".join(f"{min(run)}..{max(run)}" for run in self._runs if run)
