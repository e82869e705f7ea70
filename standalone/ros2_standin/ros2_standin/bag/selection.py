"""Which topics are recorded."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..graph import hidden


@dataclass(frozen=True)
class Selection:
    """Topics by name, type or expression, and what is taken out of them again."""

    everything: bool = False
    topics: Collection[str] = ()
    types: Collection[str] = ()
    regex: str = ""
    exclude_topics: Collection[str] = ()
    exclude_types: Collection[str] = ()
    exclude_regex: str = ""
    include_hidden: bool = False

    def takes(self, topic: str, types: Sequence[str]) -> bool:
        """Whether a topic of these types is recorded. One with several types never is."""
        if len(types) != 1 or (hidden(topic) and not self.include_hidden):
            return False
        return self._wanted(topic, types[0]) and not self._excluded(topic, types[0])

    def _wanted(self, topic: str, kind: str) -> bool:
        named = topic in self.topics or kind in self.types
        return self.everything or named or bool(self.regex and re.search(self.regex, topic))

    def _excluded(self, topic: str, kind: str) -> bool:
        named = topic in self.exclude_topics or kind in self.exclude_types
        return named or bool(self.exclude_regex and re.search(self.exclude_regex, topic))
