"""What holds for all tests."""

from contextlib import suppress
from pathlib import Path

import pytest

PROCESSES = {Path(__file__).parent / folder for folder in ("launch", "nodes", "standalone")}
"""Folders of tests that start real processes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real processes miss their times when the machine stalls: such a test gets two more goes, and pytest names it."""
    for item in items:
        if not PROCESSES.isdisjoint(item.path.parents):
            item.add_marker(pytest.mark.flaky(reruns=2))


with suppress(ImportError):  # a ROS workspace need not have hypothesis; then its tests cannot be collected either
    from hypothesis import settings

    # No deadlines: they measure the machine. The same examples each time, so that the same code gives the same result;
    # `pytest --hypothesis-profile explore` draws new ones.
    settings.register_profile("repeatable", deadline=None, derandomize=True)
    settings.register_profile("explore", deadline=None, max_examples=2000)
    settings.load_profile("repeatable")
