"""Launch files written in Python."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from types import ModuleType

from .._support import UnsupportedError, missing_attribute
from ..launch_description import LaunchDescription
from ..launch_description_source import LaunchDescriptionSource
from ..some_substitutions_type import SomeSubstitutionsType

__getattr__ = missing_attribute(__name__)
__all__ = [
    "AnyLaunchDescriptionSource",
    "InvalidPythonLaunchFileError",
    "PythonLaunchDescriptionSource",
    "get_launch_description_from_any_launch_file",
    "get_launch_description_from_python_launch_file",
    "load_python_launch_file_as_module",
]


class InvalidPythonLaunchFileError(Exception):
    """A Python launch file lacks `generate_launch_description`."""


def load_python_launch_file_as_module(python_launch_file_path: str) -> ModuleType:
    """Return the launch file, executed as a module of its own."""
    loader = SourceFileLoader("python_launch_file", python_launch_file_path)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def get_launch_description_from_python_launch_file(python_launch_file_path: str) -> LaunchDescription:
    """Return what the launch file's `generate_launch_description()` returns."""
    module = load_python_launch_file_as_module(python_launch_file_path)
    function = getattr(module, "generate_launch_description", None)
    if function is None:
        raise InvalidPythonLaunchFileError(
            f"launch file at '{python_launch_file_path}' does not contain the required function"
            " 'generate_launch_description()'"
        )
    return function()


def get_launch_description_from_any_launch_file(launch_file_path: str) -> LaunchDescription:
    """Return the description of a launch file; only Python can be read here."""
    if launch_file_path.endswith((".xml", ".yaml", ".yml", ".launch")):
        raise UnsupportedError(f"launch file '{launch_file_path}': a launch file that is not Python")
    return get_launch_description_from_python_launch_file(launch_file_path)


class PythonLaunchDescriptionSource(LaunchDescriptionSource):
    """A Python launch file."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "interpreted python launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_python_launch_file(location)


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """A launch file whose format its name tells."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_any_launch_file(location)
