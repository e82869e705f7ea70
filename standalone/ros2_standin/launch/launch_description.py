"""The list of entities that a launch file returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from . import logging
from .launch_description_entity import LaunchDescriptionEntity

if TYPE_CHECKING:
    from .action import Action
    from .actions import DeclareLaunchArgument, IncludeLaunchDescription
    from .launch_context import LaunchContext

Declaration = tuple["DeclareLaunchArgument", list["IncludeLaunchDescription"]]


class LaunchDescription(LaunchDescriptionEntity):
    """What is to be launched, in order."""

    def __init__(
        self,
        initial_entities: Iterable[LaunchDescriptionEntity] | None = None,
        *,
        deprecated_reason: str | None = None,
    ) -> None:
        self.__entities = list(initial_entities or [])
        self.__deprecated_reason = deprecated_reason

    @property
    def entities(self) -> list[LaunchDescriptionEntity]:
        """The entities, in order."""
        return self.__entities

    def add_entity(self, entity: LaunchDescriptionEntity) -> None:
        """Append an entity."""
        self.__entities.append(entity)

    def add_action(self, action: Action) -> None:
        """Append an action."""
        self.add_entity(action)

    def visit(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        if self.__deprecated_reason is not None:
            file = context.get_locals_as_dict().get("current_launch_file_path", "")
            logging.get_logger("launch").warning("launch file [%s] is deprecated: %s", file, self.__deprecated_reason)
        return self.__entities

    def describe_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        return self.__entities

    def get_launch_arguments(self, conditional_inclusion: bool = False) -> list[DeclareLaunchArgument]:
        """Return the arguments that this description and its includes declare, each name once."""
        pairs = self.get_launch_arguments_with_include_launch_description_actions(conditional_inclusion)
        return [argument for argument, _ in pairs]

    def get_launch_arguments_with_include_launch_description_actions(
        self, conditional_inclusion: bool = False
    ) -> list[Declaration]:
        """Return the declared arguments, each with the includes on the way to its declaration."""
        found: dict[str, Declaration] = {}
        for argument, includes, conditional in _declarations(self.__entities, [], conditional_inclusion):
            if argument.name not in found:
                argument._conditionally_included = conditional or argument.condition is not None
                found[argument.name] = (argument, includes)
        return list(found.values())


def _declarations(
    entities: Iterable[LaunchDescriptionEntity], includes: list[IncludeLaunchDescription], conditional: bool
) -> Iterator[tuple[DeclareLaunchArgument, list[IncludeLaunchDescription], bool]]:
    from .actions import DeclareLaunchArgument, IncludeLaunchDescription, ResetLaunchConfigurations

    for entity in entities:
        if isinstance(entity, DeclareLaunchArgument):
            yield entity, includes, conditional
        if isinstance(entity, ResetLaunchConfigurations):
            return
        inner = [*includes, entity] if isinstance(entity, IncludeLaunchDescription) else includes
        yield from _declarations(entity.describe_sub_entities(), inner, conditional)
        for _, sub_entities in entity.describe_conditional_sub_entities():
            yield from _declarations(sub_entities, inner, True)
