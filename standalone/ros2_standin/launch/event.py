"""Base class of events."""


class Event:
    """Something that happened; handlers registered in the context react to it."""

    name = "launch.Event"
