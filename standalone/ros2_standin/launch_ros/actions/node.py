"""The action that starts a ROS node."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from launch.actions import ExecuteProcess
from launch.utilities import normalize_to_list_of_substitutions, perform_text

from launch import LaunchContext, SomeSubstitutionsType, logging

from ..parameter_descriptions import Parameter, ParameterFile, write_temporary
from ..substitutions import ExecutableInPackage
from ..utilities.names import (
    make_namespace_absolute,
    prefix_namespace,
    validate_namespace,
    validate_node_name,
)
from ..utilities.parameters import evaluate_parameter_dict, normalize_parameters

Remapping = tuple[SomeSubstitutionsType, SomeSubstitutionsType]


class Node(ExecuteProcess):
    """Starts a node: name, namespace, parameters and remappings become `--ros-args` of its command."""

    UNSPECIFIED_NODE_NAME = "<node_name_unspecified>"
    UNSPECIFIED_NODE_NAMESPACE = "<node_namespace_unspecified>"

    def __init__(
        self,
        *,
        executable: SomeSubstitutionsType,
        package: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        namespace: SomeSubstitutionsType | None = None,
        exec_name: SomeSubstitutionsType | None = None,
        parameters: Iterable[Any] | None = None,
        remappings: Iterable[Remapping] | None = None,
        ros_arguments: Iterable[SomeSubstitutionsType] | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
        **kwargs: Any,
    ) -> None:
        program = executable if package is None else ExecutableInPackage(executable, package)
        ros = [] if ros_arguments is None else ["--ros-args", *ros_arguments]
        super().__init__(cmd=[program, *(arguments or ()), *ros, "--ros-args"], name=exec_name, **kwargs)
        self.node_package = package
        self.node_executable = executable
        self.__name = name
        self.__namespace = namespace
        self.__parameters = [] if parameters is None else normalize_parameters(parameters)
        self.__remappings = _checked_remappings(remappings or ())
        self.__node_name: str | None = None
        self.expanded_node_namespace = self.UNSPECIFIED_NODE_NAMESPACE

    @property
    def node_name(self) -> str:
        """The node's name with its namespace, as far as the launch file says them."""
        if self.__node_name is None:
            raise RuntimeError("cannot access 'node_name' before executing action")
        return self.__node_name

    def is_node_name_fully_specified(self) -> bool:
        """Return whether name and namespace are both known here."""
        return "unspecified>" not in self.node_name

    def execute(self, context: LaunchContext) -> None:
        """Complete the command with what the node and its scope say, and start it."""
        self._resolve(context)
        super().execute(context)

    def _resolve(self, context: LaunchContext) -> None:
        """Resolve names once, and append them and all else to the command."""
        if self.__node_name is not None:
            return
        self._append(self._name_arguments(context))
        scoped = context.launch_configurations.get("global_params") or []
        for entry in scoped:
            self._append(_scoped_parameter(entry))
        for entry in self.__parameters:
            self._append(self._own_parameter(context, entry))
        own = [(perform_text(context, source), perform_text(context, target)) for source, target in self.__remappings]
        for source, target in [*(context.launch_configurations.get("ros_remaps") or []), *own]:
            self._append(["-r", f"{source}:={target}"])

    def _append(self, arguments: Iterable[str]) -> None:
        self.process_description.cmd.extend(normalize_to_list_of_substitutions(text) for text in arguments)

    def _name_arguments(self, context: LaunchContext) -> list[str]:
        name, arguments = self.UNSPECIFIED_NODE_NAME, []
        if self.__name is not None:
            name = perform_text(context, self.__name)
            validate_node_name(name)
            arguments += ["-r", f"__node:={name}"]
        given = None if self.__namespace is None else perform_text(context, self.__namespace)
        scope = context.launch_configurations.get("ros_namespace")
        namespace = make_namespace_absolute(prefix_namespace(scope, given))
        if namespace is not None:
            validate_namespace(namespace)
            self.expanded_node_namespace = namespace
            arguments += ["-r", f"__ns:={namespace}"]
        self.__node_name = prefix_namespace(self.expanded_node_namespace, name)
        return arguments

    def _own_parameter(self, context: LaunchContext, entry: Any) -> list[str]:
        if isinstance(entry, Parameter):
            name, value = entry.evaluate(context)
            return ["-p", f"{name}:={yaml.dump(value)}"]
        if not isinstance(entry, ParameterFile):
            return ["--params-file", str(self._write(evaluate_parameter_dict(context, entry)))]
        path = entry.evaluate(context)
        if path.is_file():
            return ["--params-file", str(path)]
        logging.get_logger("launch_ros.actions.node").warning("Parameter file path is not a file: %s", path)
        return []

    def _write(self, values: dict[str, Any]) -> Path:
        key = self.node_name if self.is_node_name_fully_specified() else "/**"
        return write_temporary(yaml.dump({key: {"ros__parameters": values}}, default_flow_style=False))


def _scoped_parameter(entry: tuple[str, Any] | str) -> list[str]:
    """Return the arguments for what SetParameter or SetParametersFromFile has left in the scope."""
    if isinstance(entry, tuple):
        return ["-p", f"{entry[0]}:={entry[1]}"]
    path = os.path.abspath(entry)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"SetParametersFromFile: no such file: {path}")
    return ["--params-file", path]


def _checked_remappings(remappings: Iterable[Remapping]) -> list[Remapping]:
    rules = list(remappings)
    for rule in rules:
        if not isinstance(rule, tuple) or len(rule) != 2:
            raise TypeError(f"a remapping must be a tuple of two, got {rule!r}")
    return rules
