"""Parameter values with a type, single parameters, parameter files."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import yaml
from launch._support import UnsupportedError, missing_attribute
from launch.substitutions import (
    EnvironmentVariable,
    LaunchConfiguration,
    SubstitutionFailure,
    ThisLaunchFileDir,
)
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions, perform_text
from launch.utilities.type_utils import normalize_typed_substitution, perform_typed_substitution

from launch import LaunchContext, SomeSubstitutionsType, Substitution

__getattr__ = missing_attribute(__name__)
__all__ = ["Parameter", "ParameterFile", "ParameterValue"]


class ParameterValue:
    """A value, or substitutions that become one, of the type given or as YAML reads it."""

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        self.value = normalize_typed_substitution(value, value_type)
        self.value_type = value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """Return the value."""
        return perform_typed_substitution(context, self.value, self.value_type)


class Parameter:
    """One parameter that is passed on the command line."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, *, value_type: Any = None) -> None:
        self.name = normalize_to_list_of_substitutions(name)
        self.value = ParameterValue(value, value_type=value_type)

    def evaluate(self, context: LaunchContext) -> tuple[str, Any]:
        """Return name and value."""
        return perform_substitutions(context, self.name), self.value.evaluate(context)


class ParameterFile:
    """A YAML file with parameters, in which `$(...)` may be resolved first."""

    def __init__(self, param_file: os.PathLike[str] | SomeSubstitutionsType, *, allow_substs: Any = False) -> None:
        is_path = isinstance(param_file, os.PathLike)
        self.param_file: Any = param_file if is_path else normalize_to_list_of_substitutions(param_file)  # type: ignore[arg-type]
        self.allow_substs = normalize_typed_substitution(allow_substs, bool)

    def evaluate(self, context: LaunchContext) -> Path:
        """Return the path of the file, or of a copy in which the substitutions are resolved."""
        given = self.param_file
        path = Path(perform_substitutions(context, given) if isinstance(given, list) else given)
        if not perform_typed_substitution(context, self.allow_substs, bool):
            return path
        return write_temporary(_resolved(path, context))


def write_temporary(text: str) -> Path:
    """Return the path of a new parameter file with the text; it stays, for processes read it later."""
    with tempfile.NamedTemporaryFile("w", prefix="launch_params_", delete=False) as file:
        file.write(text)
    return Path(file.name)


def _resolved(path: Path, context: LaunchContext) -> str:
    def resolve(match: re.Match[str]) -> str:
        return perform_text(context, _parsed(match[1], match[2].split()))

    text = re.sub(r"\$\((\S+)\s*((?:(?!\$\()[^)])*)\)", resolve, path.read_text())
    if "$(" in text:
        raise UnsupportedError(f"a nested or unfinished $(...) in {path}")
    try:
        yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SubstitutionFailure("The substituted parameter file is not a valid yaml file") from error
    return text


def _parsed(kind: str, arguments: list[str]) -> Substitution:
    from .substitutions import FindPackagePrefix, FindPackageShare

    kinds: dict[str, Any] = {
        "var": lambda name, default=None: LaunchConfiguration(name, default=default),
        "env": lambda name, default=None: EnvironmentVariable(name, default_value=default),
        "find-pkg-share": FindPackageShare,
        "find-pkg-prefix": FindPackagePrefix,
        "dirname": ThisLaunchFileDir,
    }
    if kind not in kinds:
        raise UnsupportedError(f"the substitution $({kind} ...) in a parameter file")
    return kinds[kind](*arguments)
