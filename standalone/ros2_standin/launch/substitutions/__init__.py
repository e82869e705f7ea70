"""Substitutions of launch files."""

from .._support import missing_attribute
from .logic import (
    AllSubstitution,
    AndSubstitution,
    AnySubstitution,
    EqualsSubstitution,
    IfElseSubstitution,
    NotEqualsSubstitution,
    NotSubstitution,
    OrSubstitution,
    PythonExpression,
)
from .text import (
    EnvironmentVariable,
    FindExecutable,
    LaunchConfiguration,
    PathJoinSubstitution,
    SubstitutionFailure,
    TextSubstitution,
    ThisLaunchFile,
    ThisLaunchFileDir,
)

__getattr__ = missing_attribute(__name__)
__all__ = [
    "AllSubstitution",
    "AndSubstitution",
    "AnySubstitution",
    "EnvironmentVariable",
    "EqualsSubstitution",
    "FindExecutable",
    "IfElseSubstitution",
    "LaunchConfiguration",
    "NotEqualsSubstitution",
    "NotSubstitution",
    "OrSubstitution",
    "PathJoinSubstitution",
    "PythonExpression",
    "SubstitutionFailure",
    "TextSubstitution",
    "ThisLaunchFile",
    "ThisLaunchFileDir",
]
