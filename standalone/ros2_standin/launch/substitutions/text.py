"""Text, launch configurations, environment variables, locations."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions, perform_text

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class SubstitutionFailure(RuntimeError):
    """A substitution cannot be resolved."""


def described(parts: Iterable[Substitution]) -> str:
    """Return the descriptions of the parts, joined."""
    return " + ".join(part.describe() for part in parts)


def with_default_text(default: Any) -> list[Substitution] | None:
    """Return any value as substitutions; sequences item by item."""
    if default is None:
        return None
    items = default if isinstance(default, Iterable) else [default]
    return normalize_to_list_of_substitutions(
        [item if isinstance(item, (str, Substitution)) else str(item) for item in items]
    )


class TextSubstitution(Substitution):
    """Fixed text."""

    def __init__(self, *, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"TextSubstitution expected text, got '{type(text)}'")
        self.text = text

    def describe(self) -> str:
        """See the base class."""
        return f"'{self.text}'"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return self.text


class LaunchConfiguration(Substitution):
    """The value of a launch configuration, arguments included."""

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: Any = None) -> None:
        self.variable_name = normalize_to_list_of_substitutions(variable_name)
        self.__default = with_default_text(default)

    def describe(self) -> str:
        """See the base class."""
        return f"LaunchConfig({described(self.variable_name)})"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        name = perform_substitutions(context, self.variable_name)
        if name in context.launch_configurations:
            return context.launch_configurations[name]
        if self.__default is None:
            raise SubstitutionFailure(f"launch configuration '{name}' does not exist")
        return perform_substitutions(context, self.__default)


class EnvironmentVariable(Substitution):
    """The value of an environment variable."""

    def __init__(self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None) -> None:
        self.name = normalize_to_list_of_substitutions(name)
        self.default_value = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    def describe(self) -> str:
        """See the base class."""
        return f"EnvVar({described(self.name)})"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        name = perform_substitutions(context, self.name)
        if name in context.environment:
            return context.environment[name]
        if self.default_value is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self.default_value)


class PathJoinSubstitution(Substitution):
    """A path joined from its parts."""

    def __init__(self, substitutions: Iterable[str | Substitution]) -> None:
        self.substitutions = normalize_to_list_of_substitutions(substitutions)

    def describe(self) -> str:
        """See the base class."""
        return f"PathJoin('{described(self.substitutions)}')"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return os.path.join(*(context.perform_substitution(part) for part in self.substitutions))


class ThisLaunchFile(Substitution):
    """The path of the launch file being read."""

    _local = "current_launch_file_path"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        if self._local not in context.get_locals_as_dict():
            raise SubstitutionFailure(f"{type(self).__name__} used outside of a launch file (in a script)")
        return context.get_locals_as_dict()[self._local]


class ThisLaunchFileDir(ThisLaunchFile):
    """The folder of the launch file being read."""

    _local = "current_launch_file_directory"


class FindExecutable(Substitution):
    """The path of an executable on PATH."""

    def __init__(self, *, name: SomeSubstitutionsType) -> None:
        self.name = normalize_to_list_of_substitutions(name)

    def describe(self) -> str:
        """See the base class."""
        return f"FindExec({described(self.name)})"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        name = perform_text(context, self.name)
        found = shutil.which(name)
        if found is None:
            raise SubstitutionFailure(f"executable '{name}' not found on the PATH")
        return found
