"""Actions on launch configurations and on the environment, and the group that scopes both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..action import Action
from ..launch_description_entity import LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions, perform_text

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

Configurations = Mapping[SomeSubstitutionsType, SomeSubstitutionsType]


class _Named(Action):
    """Base of the actions on one variable."""

    def __init__(self, name: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.name = normalize_to_list_of_substitutions(name)

    def _name(self, context: LaunchContext) -> str:
        return perform_substitutions(context, self.name)


class _NamedValue(_Named):
    """Base of the actions that give one variable a value."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.value = normalize_to_list_of_substitutions(value)

    def _value(self, context: LaunchContext) -> str:
        return perform_substitutions(context, self.value)


class SetLaunchConfiguration(_NamedValue):
    """Sets a launch configuration."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context.launch_configurations[self._name(context)] = self._value(context)


class UnsetLaunchConfiguration(_Named):
    """Removes a launch configuration if it is set."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context.launch_configurations.pop(self._name(context), None)


class SetEnvironmentVariable(_NamedValue):
    """Sets an environment variable for what is started later."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context.environment[self._name(context)] = self._value(context)


class AppendEnvironmentVariable(_NamedValue):
    """Appends to (or prepends to) an environment variable that is a list."""

    def __init__(
        self,
        name: SomeSubstitutionsType,
        value: SomeSubstitutionsType,
        prepend: bool = False,
        separator: SomeSubstitutionsType = ":",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, value, **kwargs)
        self.__prepend = prepend
        self.__separator = separator

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        name, value = self._name(context), self._value(context)
        old = [context.environment[name]] if name in context.environment else []
        parts = [value, *old] if self.__prepend else [*old, value]
        context.environment[name] = perform_text(context, self.__separator).join(parts)


class UnsetEnvironmentVariable(_Named):
    """Removes an environment variable if it is set."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context.environment.pop(self._name(context), None)


class PushLaunchConfigurations(Action):
    """Remembers the launch configurations."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context._push_launch_configurations()


class PopLaunchConfigurations(Action):
    """Returns to the launch configurations last remembered."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context._pop_launch_configurations()


class PushEnvironment(Action):
    """Remembers the environment."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context._push_environment()


class PopEnvironment(Action):
    """Returns to the environment last remembered."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context._pop_environment()


class ResetEnvironment(Action):
    """Returns to the environment of the start."""

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        context._reset_environment()


class ResetLaunchConfigurations(Action):
    """Removes all launch configurations but the given ones."""

    def __init__(self, launch_configurations: Configurations | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.__kept = launch_configurations or {}

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        kept = {perform_text(context, key): perform_text(context, value) for key, value in self.__kept.items()}
        context.launch_configurations.clear()
        context.launch_configurations.update(kept)


class GroupAction(Action):
    """Actions that share a scope: what they set ends with the group."""

    def __init__(
        self,
        actions: Iterable[Action],
        *,
        scoped: bool = True,
        forwarding: bool = True,
        launch_configurations: Configurations | None = None,
        **left_over_kwargs: Any,
    ) -> None:
        super().__init__(**left_over_kwargs)
        self.__actions = list(actions)
        self.__scoped = scoped
        self.__forwarding = forwarding
        self.__configurations = dict(launch_configurations or {})
        self.__entities: list[LaunchDescriptionEntity] | None = None

    def get_sub_entities(self) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        if self.__entities is None:
            self.__entities = self._scoped() if self.__scoped else [*self._sets(), *self.__actions]
        return self.__entities

    def execute(self, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        """See the base class."""
        return self.get_sub_entities()

    def _scoped(self) -> list[LaunchDescriptionEntity]:
        start: list[LaunchDescriptionEntity] = [PushLaunchConfigurations(), PushEnvironment()]
        if self.__forwarding:
            start += self._sets()
        else:
            start += [ResetEnvironment(), ResetLaunchConfigurations(self.__configurations)]
        return [*start, *self.__actions, PopEnvironment(), PopLaunchConfigurations()]

    def _sets(self) -> list[LaunchDescriptionEntity]:
        return [SetLaunchConfiguration(name, value) for name, value in self.__configurations.items()]
