"""Which episode and step an observation belongs to, from the executed steps."""

from __future__ import annotations

from rlt_ros.types import ExecutedStep


class EpisodeCount:
    """Counts observations, episodes and steps by what the executor reports, so that it goes on after a restart.

    In real time the next observation is often on its way before a reset is reported: it is executed in the old episode
    and its report comes after that of the reset, which must not undo it.
    """

    def __init__(self) -> None:
        self._executed: ExecutedStep | None = None
        self._episode = 0

    @property
    def executed(self) -> ExecutedStep | None:
        """The newest executed step, None before the first."""
        return self._executed

    def add(self, step: ExecutedStep) -> None:
        """Take the report of a step; older ones than the newest are of use for a reset that they report."""
        self._episode = max(self._episode, step.episode + int(step.reset_done))
        if self._executed is None or step.observation_id >= self._executed.observation_id:
            self._executed = step

    def following(self, last_id: int) -> tuple[int, int, int]:
        """Id, episode and step of the next observation. last_id: of the one before, 0 without one."""
        done = self._executed
        if done is None:
            return last_id + 1, self._episode, 0
        goes_on = done.episode == self._episode and not done.reset_done
        return max(last_id, done.observation_id) + 1, self._episode, done.step + 1 if goes_on else 0
