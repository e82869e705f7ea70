"""Loggers of the launch itself and of the output of its processes: screen and `launch.log`."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

Destinations = dict[str, set[str]]

_TO_BOTH = {
    "screen": {"both": {"screen"}},
    "log": {"both": {"log"}, "stderr": {"screen"}},
    "both": {"both": {"log", "screen"}},
    "own_log": {"both": {"own_log"}},
    "full": {"both": {"screen", "log", "own_log"}},
}


class LaunchConfig:
    """The log directory of this run and the handlers that write there, each made when first needed."""

    def __init__(self) -> None:
        self.level = logging.INFO
        self._log_dir: Path | None = None
        self._handlers: dict[str, logging.Handler] = {}

    @property
    def log_dir(self) -> str:
        """The directory of this run's log files."""
        if self._log_dir is None:
            self._log_dir = _make_log_dir()
        return str(self._log_dir)

    def screen(self, style: str) -> logging.Handler:
        """Return the handler that writes to the standard output in the style."""
        return self._handler(f"screen {style}", style, lambda: logging.StreamHandler(sys.stdout))

    def file(self, name: str, style: str) -> logging.Handler:
        """Return the handler that writes to the file of the log directory in the style."""
        path = Path(self.log_dir, name)
        return self._handler(f"{name} {style}", style, lambda: logging.FileHandler(path, encoding="utf-8"))

    def _handler(self, key: str, style: str, make: Callable[[], logging.Handler]) -> logging.Handler:
        if key not in self._handlers:
            self._handlers[key] = make()
            self._handlers[key].setFormatter(logging.Formatter(style, style="{"))
        return self._handlers[key]


launch_config = LaunchConfig()


def get_logger(name: str | None = None) -> logging.Logger:
    """Return a logger of the launch: screen and `launch.log`."""
    style = "[{levelname}] [{name}]: {message}"
    handlers = [launch_config.screen(style), launch_config.file("launch.log", "{created:.7f} " + style)]
    return _logger(name or "launch", handlers)


def get_output_loggers(process_name: str, output_config: str | Destinations) -> tuple[logging.Logger, logging.Logger]:
    """Return the loggers for what the process writes to its standard output and error."""
    config = _normalize(output_config)
    out, err = (_output_logger(process_name, source, config) for source in ("stdout", "stderr"))
    return out, err


def _output_logger(process: str, source: str, config: Destinations) -> logging.Logger:
    wanted = config["both"] | config[source]
    handlers: list[logging.Handler] = []
    if "screen" in wanted:
        handlers.append(launch_config.screen("{message}"))
    if "log" in wanted:
        handlers.append(launch_config.file("launch.log", "{created:.7f} {message}"))
    if "own_log" in wanted:
        handlers.append(launch_config.file(f"{process}-{source}.log", "{message}"))
    if "own_log" in config["both"]:
        handlers.append(launch_config.file(f"{process}.log", "{message}"))
    return _logger(f"{process}-{source}", handlers)


def _logger(name: str, handlers: list[logging.Handler]) -> logging.Logger:
    logger = logging.getLogger(name)
    logger.propagate = False
    logger.setLevel(launch_config.level)
    for handler in handlers:
        if handler not in logger.handlers:
            logger.addHandler(handler)
    return logger


def _normalize(config: str | Destinations) -> Destinations:
    if isinstance(config, str):
        if config not in _TO_BOTH:
            raise ValueError(f"'{config}' is not a valid output configuration: {', '.join(_TO_BOTH)}")
        config = _TO_BOTH[config]
    unknown = set(config) - {"stdout", "stderr", "both"}
    if unknown:
        raise ValueError(f"{unknown} is not a valid output source i.e. stdout, stderr or both")
    return {source: _as_set(config.get(source, set())) for source in ("both", "stdout", "stderr")}


def _as_set(destinations: str | set[str]) -> set[str]:
    chosen = {destinations} if isinstance(destinations, str) else set(destinations)
    if chosen - {"screen", "log", "own_log"}:
        raise ValueError(f"{chosen} is not a valid output destination i.e. screen, log or own_log")
    return chosen


def _make_log_dir() -> Path:
    home = os.environ.get("ROS_HOME") or "~/.ros"
    base = Path(os.environ.get("ROS_LOG_DIR") or Path(home, "log")).expanduser()
    stamp = datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
    log_dir = base / f"{stamp}-{socket.gethostname()}-{os.getpid()}"
    log_dir.mkdir(parents=True)
    _link_latest(base / "latest", log_dir)
    return log_dir


def _link_latest(link: Path, log_dir: Path) -> None:
    if link.exists() and not link.is_symlink():
        return
    try:
        temporary = link.with_name(f"{link.name}-{os.getpid()}")
        temporary.symlink_to(log_dir)
        temporary.replace(link)
    except OSError as error:  # several launches may start at once; the link is a convenience
        print(f"cannot link {link}: {error}", file=sys.stderr)
