"""The button that must be held while a person drives, and what pressing it and letting go asks for."""

from __future__ import annotations

from enum import Enum

from rlt_ros.loop.requests import Request
from rlt_ros.types import Mode


class Hold(Enum):
    """How a person holds the arm."""

    LOCKED = "must be released first"
    """At the start, and after the device was lost: a button that is stuck, or lies under something, takes nothing."""
    FREE = "released"
    ASKED = "pressed, waiting for teleop"
    GRANTED = "pressed, the person drives from the next step on"
    DRIVES = "held, the person drives"
    OVER = "held, but the person does not drive"
    """Refused, or a label, a stop or somebody else has ended the turn; press again to take over again."""


_TAKEN = (Hold.ASKED, Hold.GRANTED, Hold.DRIVES)


class Deadman:
    """Asks for the person's mode when it is pressed, hands back when it is released, stops the arm when it is lost."""

    def __init__(self) -> None:
        self.state = Hold.LOCKED
        self._handed_back = False

    @property
    def takes(self) -> bool:
        """The person has the arm, or has asked for it."""
        return self.state in _TAKEN

    def look(self, held: bool | None, lost: bool) -> Request | None:
        """What is to be asked for now. held: None while it is not known. lost: whatever drives is out of hand."""
        taken = self.takes
        if lost:
            self.state = Hold.LOCKED
            # Nobody has let go on purpose: what the policy would do next, nobody has agreed to (field report B40).
            return Request.MODE_HOLD if taken else None
        if held is False:
            self.state = Hold.FREE
            return Request.HAND_BACK if taken else None
        if held and self.state is Hold.FREE:
            self.state = Hold.ASKED
            return Request.MODE_HUMAN
        return None

    def answered(self, accepted: bool) -> None:
        """The answer to the last request for the person's mode."""
        if self.state is Hold.ASKED:
            self.state = Hold.GRANTED if accepted else Hold.OVER

    def handed_back(self, accepted: bool) -> None:
        """The answer to the last request to hand back."""
        self._handed_back = accepted

    def word(self, mode: Mode) -> bool:
        """The operator's word for an observation; whether the person must say that there is nothing more to come.

        Until the person's turn has begun older words may be under way. Where the plan wants a person, the mode stays
        after the hand back, and the last command would go on until it is too old.
        """
        idle = self._handed_back and mode is Mode.HUMAN and self.state is Hold.FREE
        self._handed_back = False
        if self.state is Hold.GRANTED and mode is Mode.HUMAN:
            self.state = Hold.DRIVES
        elif self.state is Hold.DRIVES and mode is not Mode.HUMAN:
            self.state = Hold.OVER
        return idle
