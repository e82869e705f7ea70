"""Presses begin, success and failure by rules, where a person would have seen the same."""

from __future__ import annotations

from dataclasses import dataclass

from rlt_ros.loop.requests import Request
from rlt_ros.operator.rules import Rule, Rules, Sample
from rlt_ros.types import Mode, Phase


@dataclass(frozen=True)
class Call:
    """What the referee asks for, and by which rule."""

    request: Request
    rule: str


class Referee:
    """Looks at one sample after the other and says what it would press.

    It never drives and never stops: a person's label comes before its own where it is quicker, and while the arm holds
    or is reset no rule counts. Each rule is called once for each time that it comes to be met. Time is that of the
    samples' stamps; where they go back, every hold begins anew.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._place: tuple[int, Phase, int] | None = None
        self._began = self._last = 0
        self._since: dict[Rule, int] = {}
        self._called: set[Rule] = set()
        self.soon = ""
        """The rule that is met and has not yet held for long enough, empty if none is."""

    def look(self, sample: Sample) -> Call | None:
        """What is to be pressed at this sample, None if nothing."""
        place = (sample.episode, sample.phase, sample.phase_id)
        if place != self._place or sample.stamp < self._last:
            self._place, self._began = place, sample.stamp
            self._forget()
        self._last, self.soon = sample.stamp, ""
        if sample.mode in (Mode.HOLD, Mode.RESET):
            self._forget()
            return None
        calls = [self._judge(rule, request, sample) for request, rule in self._due(sample.phase)]
        return next((call for call in calls if call is not None), None)

    def rest(self) -> None:
        """What was seen so far counts no more; in the next sample everything begins anew."""
        self._place, self.soon = None, ""

    def _due(self, phase: Phase) -> list[tuple[Request, Rule]]:
        if phase is Phase.APPROACH:
            return [(Request.BEGIN, rule) for rule in self._rules.begin]
        if phase is Phase.CRITICAL:
            ends = ((Request.SUCCESS, self._rules.success), (Request.FAILURE, self._rules.failure))
            return [(request, rule) for request, rules in ends for rule in rules]
        return []

    def _judge(self, rule: Rule, request: Request, sample: Sample) -> Call | None:
        if not rule.met(sample, (sample.stamp - self._began) / 1e9):
            self._since.pop(rule, None)
            self._called.discard(rule)
            return None
        since = self._since.setdefault(rule, sample.stamp)
        if rule in self._called:
            return None
        if sample.stamp - since < rule.hold * 1e9:
            self.soon = self.soon or f"{request.value}: {rule.name}"
            return None
        self._called.add(rule)
        return Call(request, rule.name)

    def _forget(self) -> None:
        self._since.clear()
        self._called.clear()
