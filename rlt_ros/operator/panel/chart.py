"""The curve as options of ECharts, which NiceGUI brings along."""

from __future__ import annotations

from typing import Any

from rlt_ros.operator.panel.curve import Point

GOOD, WARN, INK, FAINT = "#4cc38a", "#f0b429", "#9fb0c3", "#253041"
SHORTEST = 20
"""Phases that the axis has room for at least."""


def options(points: tuple[Point, ...]) -> dict[str, Any]:
    """Success and help of the last 20 over the labelled phases, in percent."""
    numbers = [point.phase_id for point in points] or [1]
    axis = {"type": "value", "axisLabel": {"color": INK, "fontSize": 13}}
    return {
        "animation": False,
        "grid": {"left": 40, "right": 16, "top": 32, "bottom": 26},
        "legend": {"top": 0, "textStyle": {"color": INK, "fontSize": 14}, "icon": "roundRect"},
        "xAxis": axis | {
            "min": numbers[0], "max": max(numbers[-1], numbers[0] + SHORTEST - 1), "minInterval": 1,
            "splitLine": {"show": False},
        },
        "yAxis": axis | {"min": 0, "max": 100, "interval": 25, "splitLine": {"lineStyle": {"color": FAINT}}},
        "series": [
            _line("success of the last 20, %", GOOD, 3, [(p.phase_id, p.success) for p in points]),
            _line("helped, %", WARN, 2, [(p.phase_id, p.helped) for p in points]),
        ],
    }  # fmt: skip


def caption(points: tuple[Point, ...]) -> str:
    """The newest point in words."""
    if not points:
        return "no labelled phase yet"
    newest = points[-1]
    shares = {"success": newest.success, "helped": newest.helped}
    said = [f"{name} {share:.0%}" for name, share in shares.items() if share is not None]
    return ", ".join([f"phase {newest.phase_id}: {newest.label.name}", *said])


def _line(name: str, color: str, width: int, points: list[tuple[int, float | None]]) -> dict[str, Any]:
    percent = [[number, None if share is None else round(100.0 * share, 1)] for number, share in points]
    style = {"color": color, "width": width}
    return {
        "type": "line",
        "name": name,
        "data": percent,
        "symbolSize": 5,
        "itemStyle": {"color": color},
        "lineStyle": style,
    }
