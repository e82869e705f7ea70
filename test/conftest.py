"""What holds for all tests."""

from contextlib import suppress

with suppress(ImportError):  # a ROS workspace need not have hypothesis; then its tests cannot be collected either
    from hypothesis import settings

    # No deadlines: they measure the machine. The same examples each time, so that the same code gives the same result;
    # `pytest --hypothesis-profile explore` draws new ones.
    settings.register_profile("repeatable", deadline=None, derandomize=True)
    settings.register_profile("explore", deadline=None, max_examples=2000)
    settings.load_profile("repeatable")
