"""What an operator may ask for: the one vocabulary of a person's buttons, the services and the scripted operator."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Request(str, Enum):
    """One press of a button. The first five begin or end the critical phase, the next five ask for a `types.Mode`, two
    say whether an episode follows, one ends a person's turn, the last two say where the next episodes start.
    """

    BEGIN = "begin"
    """The critical phase begins: from here on it is practised."""
    SUCCESS = "success"
    """The critical phase ended well (`types.Label.SUCCESS`)."""
    FAILURE = "failure"
    """The critical phase ended badly (`types.Label.FAILURE`)."""
    DISCARD = "discard"
    """The critical phase is to leave nothing behind (`types.Label.DISCARD`)."""
    ABORT = "abort"
    """The critical phase was cut short and says nothing about its outcome (`types.Label.ABORT`)."""
    MODE_HOLD = "mode_hold"
    """The arm holds still (`types.Mode.HOLD`)."""
    MODE_VLA = "mode_vla"
    """The VLA drives (`types.Mode.VLA`)."""
    MODE_RL = "mode_rl"
    """The learned actor drives (`types.Mode.RL`)."""
    MODE_HUMAN = "mode_human"
    """The person drives (`types.Mode.HUMAN`)."""
    RESET = "reset"
    """Back to a start state (`types.Mode.RESET`)."""
    PAUSE = "pause"
    """No episode follows by itself: the one under way goes on to its label, then the arm holds."""
    NEXT = "next"
    """The next episode, also out of a pause or after a stop; takes back a pause that has not begun."""
    HAND_BACK = "hand_back"
    """The person lets go: whoever the plan of the episode wants drives again."""
    START_HERE = "start_here"
    """Practise from here: where the arm is becomes a start pose of the resets by motion."""
    START_ANYWHERE = "start_anywhere"
    """Such start poses are forgotten: resets end about the start of the robot config again."""


@dataclass(frozen=True)
class Answer:
    """accepted: whether the request will take effect. message: why not, or what it leads to."""

    accepted: bool
    message: str


LABEL_REQUESTS = (Request.BEGIN, Request.SUCCESS, Request.FAILURE, Request.DISCARD, Request.ABORT)
"""By the constants of rlt_ros/LabelEpisode."""
MODE_REQUESTS = (
    Request.MODE_HOLD,
    Request.MODE_VLA,
    Request.MODE_RL,
    Request.MODE_HUMAN,
    Request.RESET,
    Request.PAUSE,
    Request.NEXT,
    Request.HAND_BACK,
    Request.START_HERE,
    Request.START_ANYWHERE,
)
"""By the constants of rlt_ros/SetPolicyMode."""
