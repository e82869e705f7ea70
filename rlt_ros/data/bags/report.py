"""What a person should know of a conversion: for the terminal, and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlt_ros.data.bags.convert import Conversion
from rlt_ros.data.bags.plan import Episode
from rlt_ros.data.bags.timeline import Timeline


def summary(conversion: Conversion, rate: int) -> dict[str, Any]:
    """JSON-ready: grid, topics (messages, rate, jitter, ages, repetitions), episodes, and those left out with why."""
    written = conversion.written
    return {
        "rate_hz": rate,
        "offset_s": conversion.offset,
        "max_age_s": conversion.max_age,
        "episodes": len(written),
        "frames": sum(len(episode) for episode in written),
        "topics": {topic: _topic(line, written, topic) for topic, line in conversion.timelines.items()},
        "notes": [{"episode": e.segment.name, "note": e.segment.note} for e in written if e.segment.note],
        "left_out": [{"episode": e.segment.name, "faults": e.faults} for e in conversion.skipped],
    }


def _topic(timeline: Timeline, episodes: list[Episode], topic: str) -> dict[str, Any]:
    ages = np.concatenate([episode.ages[topic] for episode in episodes])
    spread, worst = timeline.jitter()
    return {
        "messages": len(timeline),
        "rate_hz": round(timeline.rate(), 3),
        "jitter_ms": {"std": round(1e3 * spread, 3), "max": round(1e3 * worst, 3)},
        "age_ms": {f"p{q}": round(1e3 * float(np.percentile(ages, q)), 3) for q in (50, 99, 100)},
        "repeated_frames": sum(episode.repeated(topic) for episode in episodes),
        "left_out": {"absurd": timeline.absurd, "unstamped": timeline.unstamped, "backward": timeline.backward},
    }


def text(figures: dict[str, Any]) -> str:
    """Several lines for the terminal."""
    lines = [f"{figures['episodes']} episodes, {figures['frames']} frames at {figures['rate_hz']} Hz"]
    lines.append(f"grid starts {1e3 * figures['offset_s']:.1f} ms after each episode's start")
    lines += [line for topic, values in figures["topics"].items() for line in _topic_lines(topic, values)]
    lines += [f"NOTE {told['episode']}: {told['note']}" for told in figures["notes"]]
    for left in figures["left_out"]:
        lines.append(f"LEFT OUT {left['episode']}:")
        lines += [f"  {fault}" for fault in left["faults"]]
    return "\n".join(lines)


def _topic_lines(topic: str, values: dict[str, Any]) -> list[str]:
    jitter, age = values["jitter_ms"], values["age_ms"]
    lines = [
        f"{topic}: {values['messages']} messages at {values['rate_hz']:.2f} Hz, "
        f"jitter {jitter['std']:.2f} ms (max {jitter['max']:.1f}), "
        f"age {age['p50']:.1f} ms (p99 {age['p99']:.1f}, max {age['p100']:.1f})"
    ]
    if values["repeated_frames"]:
        lines.append(f"  {values['repeated_frames']} frames repeat the sample of the frame before")
    bad = {name: count for name, count in values["left_out"].items() if count}
    if bad:
        lines.append(f"  ignored messages: {', '.join(f'{count} {name}' for name, count in bad.items())}")
    return lines
