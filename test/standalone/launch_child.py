"""A process for the tests: tells which signals it gets, and ends at the one that is its argument."""

import signal
import sys

ends_at = sys.argv[1]


def on_signal(number: int, frame: object) -> None:
    """Tell about the signal."""
    name = signal.Signals(number).name
    print(f"got {name}", flush=True)
    if name == ends_at:
        sys.exit(0)


if ends_at.isdigit():
    print("out %s {}", flush=True)
    print("err", file=sys.stderr, flush=True)
    print("unfinished", end="")
    sys.exit(int(ends_at))
for handled in (signal.SIGINT, signal.SIGTERM):
    signal.signal(handled, on_signal)
print(f"ready tty={sys.stdout.isatty()}", flush=True)
while True:
    signal.pause()
