"""Matplotlib without a screen; its absence is an error that names the pip extra."""

from __future__ import annotations

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("matplotlib is missing: pip install 'rlt_ros[plots]'") from error

__all__ = ["Axes", "Figure"]
