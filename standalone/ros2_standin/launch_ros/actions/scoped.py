"""Actions whose effect on the nodes lasts until the end of the group around them."""

from __future__ import annotations

from typing import Any

from launch._support import UnsupportedError
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions, perform_text

from launch import Action, LaunchContext, SomeSubstitutionsType

from ..utilities.names import make_namespace_absolute, prefix_namespace, validate_namespace
from ..utilities.parameters import evaluate_parameter_dict, normalize_parameter_dict


def _extend(context: LaunchContext, name: str, entries: list[Any]) -> None:
    # the list itself is extended, as in the real one: where an outer scope has set entries too, they share it
    context.launch_configurations.setdefault(name, []).extend(entries)


class PushROSNamespace(Action):
    """Puts a namespace before those of the nodes."""

    def __init__(self, namespace: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.namespace = normalize_to_list_of_substitutions(namespace)

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        pushed = perform_substitutions(context, self.namespace)
        previous = context.launch_configurations.get("ros_namespace")
        namespace = make_namespace_absolute(prefix_namespace(previous, pushed)) or "/"
        try:
            validate_namespace(namespace)
        except ValueError as error:
            raise SubstitutionFailure(
                f"The resulting namespace is invalid: [previous_namespace='{previous}', pushed_namespace='{pushed}']"
            ) from error
        context.launch_configurations["ros_namespace"] = namespace


PushRosNamespace = PushROSNamespace


class SetParameter(Action):
    """Sets a parameter of all nodes; their own parameters come later and win."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.__parameters = normalize_parameter_dict({tuple(normalize_to_list_of_substitutions(name)): value})

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        values = evaluate_parameter_dict(context, self.__parameters)
        if any(isinstance(value, list) for value in values.values()):
            # the real one passes it as "(1, 2)", which no node understands: better to fail here already
            raise UnsupportedError("SetParameter with a list")
        _extend(context, "global_params", list(values.items()))


class SetParametersFromFile(Action):
    """Passes a parameter file to all nodes, before their own parameters."""

    def __init__(self, filename: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.__filename = normalize_to_list_of_substitutions(filename)

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        _extend(context, "global_params", [perform_substitutions(context, self.__filename)])


class SetRemap(Action):
    """Remaps a name in all nodes, before their own remappings."""

    def __init__(self, src: SomeSubstitutionsType, dst: SomeSubstitutionsType, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.src = normalize_to_list_of_substitutions(src)
        self.dst = normalize_to_list_of_substitutions(dst)

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        _extend(context, "ros_remaps", [(perform_text(context, self.src), perform_text(context, self.dst))])


class SetUseSimTime(Action):
    """Sets `use_sim_time` of the launch's own node; for other nodes use SetParameter."""

    def __init__(self, value: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.value = value

    def execute(self, context: LaunchContext) -> None:
        """See the base class."""
        from rclpy.parameter import Parameter

        from ..ros_adapters import get_ros_node

        get_ros_node(context).set_parameters([Parameter("use_sim_time", Parameter.Type.BOOL, self.value)])
