"""Arguments of launch files, and launch files that include others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..launch_description import LaunchDescription
from ..launch_description_entity import LaunchDescriptionEntity
from ..launch_description_source import LaunchDescriptionSource
from ..launch_description_sources import AnyLaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions, perform_text
from .configurations import SetLaunchConfiguration

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

Arguments = Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]]


class DeclareLaunchArgument(Action):
    """Declares an argument of the launch file, with a default unless it is required."""

    def __init__(
        self,
        name: str,
        *,
        default_value: SomeSubstitutionsType | None = None,
        description: str | None = None,
        choices: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.name = name
        self.default_value = None if default_value is None else normalize_to_list_of_substitutions(default_value)
        self.description = _description(description, choices)
        self.choices = choices
        self._conditionally_included = False
        self._check_choices(default_value)

    def execute(self, context: LaunchContext) -> None:
        """Give the argument its default if it was not given, and check its choices."""
        if self.name not in context.launch_configurations:
            if self.default_value is None:
                raise RuntimeError(f'Required launch argument "{self.name}" was not provided.')
            context.launch_configurations[self.name] = perform_substitutions(context, self.default_value)
        value = context.launch_configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(
                f'Argument "{self.name}" provided value "{value}" is not valid. Valid options are: {self.choices}'
            )

    def _check_choices(self, default: SomeSubstitutionsType | None) -> None:
        if self.choices is None:
            return
        if not self.choices:
            raise RuntimeError("Provided choices arg is empty. Use None to ignore the choice list.")
        if isinstance(default, str) and default not in self.choices:
            raise RuntimeError(f'Provided default_value "{default}" is not in provided choices "{self.choices}".')


class IncludeLaunchDescription(Action):
    """Visits another launch description, with arguments."""

    def __init__(
        self,
        launch_description_source: LaunchDescriptionSource | SomeSubstitutionsType,
        *,
        launch_arguments: Arguments | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(launch_description_source, LaunchDescriptionSource):
            launch_description_source = AnyLaunchDescriptionSource(launch_description_source)
        self.launch_description_source = launch_description_source
        self.launch_arguments: Sequence[Any] = tuple(launch_arguments or ())

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        description = self.launch_description_source.try_get_launch_description_without_context()
        return [] if description is None else [description]

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        description = self.launch_description_source.get_launch_description(context)
        path = os.path.abspath(self.launch_description_source.location)
        folder = os.path.dirname(path) if os.path.exists(path) else self.launch_description_source.location
        context.extend_locals({"current_launch_file_path": path, "current_launch_file_directory": folder})
        self._check_required(context, description)
        return [*(SetLaunchConfiguration(name, value) for name, value in self.launch_arguments), description]

    def _check_required(self, context: LaunchContext, description: LaunchDescription) -> None:
        given = self._argument_names(context)
        for argument, includes in description.get_launch_arguments_with_include_launch_description_actions():
            if argument._conditionally_included or argument.default_value is not None:
                continue
            names = [*given, *(name for include in includes for name in include._argument_names(context))]
            if argument.name not in names:
                raise RuntimeError(
                    f"Included launch description missing required argument '{argument.name}'"
                    f" (description: '{argument.description}'), given: [{', '.join(names)}]"
                )

    def _argument_names(self, context: LaunchContext) -> list[str]:
        return [perform_text(context, name) for name, _ in self.launch_arguments]


def default_text(default: Iterable[Substitution]) -> str:
    """Return a default for people."""
    return " + ".join(part.describe() for part in default)


def _description(description: str | None, choices: list[str] | None) -> str:
    if description is None:
        return "no description given" if choices is None else f"One of: {choices}"
    if choices is None:
        return description
    return f"{description.removesuffix('.')}. Valid choices are: {choices}"
