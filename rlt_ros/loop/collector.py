"""The collector without ROS: joins streams to demonstrations, records them, counts what became of them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rlt_ros.loop.collecting import EpisodeJoiner
from rlt_ros.loop.collection import CollectorStatus
from rlt_ros.loop.recording import RecordingThread, Verdict
from rlt_ros.types import Label


@dataclass
class Tally:
    """Demonstrations since the start. refusals: phase_id and reason of those that were to be kept and were not."""

    saved: int = 0
    frames: int = 0
    failures: int = 0
    discarded: int = 0
    refusals: list[tuple[int, str]] = field(default_factory=list)
    holds: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        """Count one demonstration."""
        if verdict.saved:
            self.saved += 1
            self.frames += verdict.take.frames
            self.failures += verdict.take.label is Label.FAILURE
            self.holds.update(verdict.take.holds)
        elif verdict.reason:
            self.refusals.append((verdict.take.phase_id, verdict.reason))
        else:
            self.discarded += 1


class Collector:
    """Give it every message through `joiner`, look at it often with `poll`, close it at the end.

    wanted: saved demonstrations after which it is `finished`; 0 for no end.
    """

    def __init__(self, recording: RecordingThread, wanted: int = 0, keep_failures: bool = False) -> None:
        self.joiner = EpisodeJoiner(recording, keep_failures)
        self.tally = Tally()
        self._recording, self._wanted = recording, wanted
        self._started = time.monotonic()
        self._settled, self._verdict, self._failure = 0, "", ""

    @property
    def finished(self) -> bool:
        """As many demonstrations were saved as are wanted."""
        return 0 < self._wanted <= self.tally.saved

    @property
    def failure(self) -> str:
        """Why nothing can be recorded, as of the last `poll`; empty if it can."""
        return self._failure

    def poll(self) -> tuple[list[str], list[str]]:
        """Take in what the thread has done; returns what is to be told and what is to be warned of."""
        told, warned = [], self.joiner.notices()
        for verdict in self._recording.verdicts():
            self._settle(verdict)
            line = f"demonstration {verdict.take.phase_id} {self._verdict}"
            (warned if verdict.reason else told).append(line)
            warned += self._hold_warning(verdict)
        failure = self._recording.failure
        if failure != self._failure:
            self._failure = failure
            warned.append(f"NOT RECORDING: {failure}" if failure else "recording is possible again")
        return told, warned

    def _settle(self, verdict: Verdict) -> None:
        if self.finished:  # a demonstration that nobody waits for any more
            return
        self.tally.add(verdict)
        self._verdict = str(verdict)
        self._settled = max(self._settled, verdict.take.phase_id)

    @staticmethod
    def _hold_warning(verdict: Verdict) -> list[str]:
        holds = verdict.take.holds
        if not (verdict.saved and holds):
            return []
        reason, _ = holds.most_common(1)[0]
        return [f"demonstration {verdict.take.phase_id} has {holds.total()} held steps, most for: {reason}"]

    @property
    def status(self) -> CollectorStatus:
        """As of the last `poll`."""
        return CollectorStatus(
            saved=self.tally.saved,
            discarded=self.tally.discarded,
            refused=len(self.tally.refusals),
            wanted=self._wanted,
            settled=self._settled,
            verdict=self._verdict,
            failure=self._failure,
            backlog=self._recording.backlog,
        )

    def close(self, timeout: float | None = None) -> bool:
        """Drop what is under way, write what is complete; False if that takes longer than timeout seconds."""
        self.joiner.interrupt("interrupted: recording has ended")
        done = self._recording.close(timeout)
        self.poll()
        return done

    def summary(self) -> dict[str, Any]:
        """JSON-ready figures of this run."""
        tally = self.tally
        return {
            "saved": tally.saved,
            "frames": tally.frames,
            "saved_failures": tally.failures,
            "discarded": tally.discarded,
            "refused": [{"phase": phase, "reason": reason} for phase, reason in tally.refusals],
            "held_steps": dict(tally.holds),
            "failure": self._failure,
            "wall_time_s": round(time.monotonic() - self._started, 1),
        }


def summary_text(summary: dict[str, Any], folder: str) -> str:
    """The summary for the terminal, several lines."""
    lines = [f"saved {summary['saved']} demonstrations, {summary['frames']} frames"]
    if summary["saved_failures"]:
        lines.append(f"  of them {summary['saved_failures']} labelled a failure")
    if summary["held_steps"]:
        lines.append(f"  held steps among them: {sum(summary['held_steps'].values())}")
    lines.append(f"discarded {summary['discarded']}, refused {len(summary['refused'])}")
    lines += [f"  demonstration {r['phase']}: {r['reason']}" for r in summary["refused"]]
    if summary["failure"]:
        lines.append(f"NOT RECORDING: {summary['failure']}")
    lines.append(f"dataset {folder}")
    return "\n".join(lines)
