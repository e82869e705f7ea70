"""What is executed: command, name, working directory, environment."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .._support import missing_attribute
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitutions import LaunchConfiguration
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions, perform_text

if TYPE_CHECKING:
    from ..action import Action
    from ..launch_context import LaunchContext

__getattr__ = missing_attribute(__name__)
__all__ = ["Executable"]

Environment = Mapping[SomeSubstitutionsType, SomeSubstitutionsType]

_counter = itertools.count(1)


class Executable:
    """A command with substitutions; `prepare` resolves it into the `final_...` attributes."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: Environment | None = None,
        additional_env: Environment | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
    ) -> None:
        self.cmd = [normalize_to_list_of_substitutions(part) for part in (*cmd, *(arguments or ()))]
        self.prefix = prefix
        self.name = name
        self.cwd = cwd
        self.env = env
        self.additional_env = additional_env
        self.final_cmd: list[str] | None = None
        self.final_name: str | None = None
        self.final_cwd: str | None = None
        self.final_env: dict[str, str] | None = None

    def prepare(self, context: LaunchContext, action: Action) -> None:
        """Resolve everything in the context."""
        cmd = [perform_substitutions(context, part) for part in self.cmd]
        self.final_cmd = [*self._prefix(context, cmd[0]), *cmd]
        name = os.path.basename(self.final_cmd[0]) if self.name is None else perform_text(context, self.name)
        self.final_name = f"{name}-{next(_counter)}"
        self.final_cwd = None if self.cwd is None else perform_text(context, self.cwd)
        base = dict(context.environment) if self.env is None else _resolved(context, self.env)
        self.final_env = {**base, **_resolved(context, self.additional_env or {})}

    def _prefix(self, context: LaunchContext, executable: str) -> list[str]:
        """Return the prefix of this command, or else the one given for the whole launch."""
        if self.prefix is not None:
            return shlex.split(perform_text(context, self.prefix))
        chosen = context.perform_substitution(LaunchConfiguration("launch-prefix-filter", default=""))
        if re.match(chosen, os.path.basename(executable)) is None:
            return []
        return shlex.split(context.perform_substitution(LaunchConfiguration("launch-prefix", default="")))


def _resolved(context: LaunchContext, variables: Environment) -> dict[str, str]:
    return {perform_text(context, key): perform_text(context, value) for key, value in variables.items()}
