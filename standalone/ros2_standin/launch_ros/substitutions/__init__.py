"""Substitutions that find packages and their executables."""

from __future__ import annotations

import os
import shutil
from typing import Any

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch._support import missing_attribute
from launch.substitutions import SubstitutionFailure
from launch.substitutions.text import described, with_default_text
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from launch import LaunchContext, SomeSubstitutionsType, Substitution

__getattr__ = missing_attribute(__name__)
__all__ = ["ExecutableInPackage", "FindPackagePrefix", "FindPackageShare", "Parameter"]


class FindPackagePrefix(Substitution):
    """The prefix that a package is installed under."""

    def __init__(self, package: SomeSubstitutionsType) -> None:
        self.package = normalize_to_list_of_substitutions(package)

    def describe(self) -> str:
        """See the base class."""
        return f"{type(self).__name__}(pkg={described(self.package)})"

    def find(self, package_name: str) -> str:
        """Return the folder of the package."""
        return get_package_prefix(package_name)

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return self.find(perform_substitutions(context, self.package))


class FindPackageShare(FindPackagePrefix):
    """The share folder of a package."""

    def find(self, package_name: str) -> str:
        """See the base class."""
        return get_package_share_directory(package_name)


class ExecutableInPackage(FindPackagePrefix):
    """The path of an executable in `lib/<package>` of the package's prefix."""

    def __init__(self, executable: SomeSubstitutionsType, package: SomeSubstitutionsType) -> None:
        super().__init__(package)
        self.executable = normalize_to_list_of_substitutions(executable)

    def describe(self) -> str:
        """See the base class."""
        return f"ExecInPkg(pkg={described(self.package)}, exec={described(self.executable)})"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        executable = perform_substitutions(context, self.executable)
        package = perform_substitutions(context, self.package)
        folder = os.path.join(self.find(package), "lib", package)
        if not os.path.exists(folder):
            raise SubstitutionFailure(f"package '{package}' found, but libexec directory '{folder}' does not exist")
        found = shutil.which(executable, path=folder)
        if found is None:
            raise SubstitutionFailure(f"executable '{executable}' not found on the libexec directory '{folder}'")
        return found


class Parameter(Substitution):
    """The value of a parameter that SetParameter has set in this scope."""

    def __init__(self, name: SomeSubstitutionsType, *, default: Any = None) -> None:
        self.name = normalize_to_list_of_substitutions(name)
        self.__default = with_default_text(default)

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        name = perform_substitutions(context, self.name)
        for entry in context.launch_configurations.get("global_params", []):
            if isinstance(entry, tuple) and entry[0] == name:
                return str(entry[1])
        if self.__default is None:
            raise SubstitutionFailure(f"parameter '{name}' not found")
        return perform_substitutions(context, self.__default)
