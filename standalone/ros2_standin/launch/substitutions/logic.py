"""Substitutions that become true, false, one of two texts, or the value of a Python expression."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import is_substitution, perform_typed_substitution
from .text import SubstitutionFailure, described

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

_TRUE = ("true", "1")
_BOOLEANS = (*_TRUE, "false", "0")


def _lower(value: object) -> str:
    return str(value).lower()


def _truth(context: LaunchContext, value: list[Substitution]) -> bool:
    try:
        return perform_typed_substitution(context, value, bool)
    except (TypeError, ValueError) as error:
        raise SubstitutionFailure(str(error)) from error


class _Operands(Substitution):
    """Base of the substitutions over several conditions."""

    def __init__(self, *args: SomeSubstitutionsType) -> None:
        self.args = [normalize_to_list_of_substitutions(arg) for arg in args]

    def describe(self) -> str:
        """See the base class."""
        return f"{type(self).__name__}({', '.join(described(arg) for arg in self.args)})"

    def _truths(self, context: LaunchContext) -> list[bool]:
        return [_truth(context, arg) for arg in self.args]


class AnySubstitution(_Operands):
    """True if any argument is."""

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return _lower(any(self._truths(context)))


class AllSubstitution(_Operands):
    """True if all arguments are."""

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return _lower(all(self._truths(context)))


class OrSubstitution(AnySubstitution):
    """True if one of two is."""

    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(left, right)


class AndSubstitution(AllSubstitution):
    """True if both are."""

    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(left, right)


class NotSubstitution(_Operands):
    """True if the value is false."""

    def __init__(self, value: SomeSubstitutionsType) -> None:
        super().__init__(value)

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return _lower(not self._truths(context)[0])


class EqualsSubstitution(_Operands):
    """True if both are equal: as booleans, as numbers, else as text."""

    def __init__(self, left: Any, right: Any) -> None:
        super().__init__(_operand(left), _operand(right))

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        left, right = (perform_substitutions(context, arg) for arg in self.args)
        return _lower(_equal(left, right))


class NotEqualsSubstitution(EqualsSubstitution):
    """True if both differ."""

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return _lower(super().perform(context) != "true")


class IfElseSubstitution(Substitution):
    """One of two texts, as the condition is true or false."""

    def __init__(
        self,
        condition: SomeSubstitutionsType,
        if_value: SomeSubstitutionsType = "",
        else_value: SomeSubstitutionsType = "",
    ) -> None:
        if if_value == else_value == "":
            raise RuntimeError("One of if_value and else_value must be specified")
        self.condition = normalize_to_list_of_substitutions(condition)
        self.if_value = normalize_to_list_of_substitutions(if_value)
        self.else_value = normalize_to_list_of_substitutions(else_value)

    def describe(self) -> str:
        """See the base class."""
        parts = (self.condition, self.if_value, self.else_value)
        return f"IfElseSubstitution({', '.join(described(part) for part in parts)})"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        return perform_substitutions(context, self.if_value if _truth(context, self.condition) else self.else_value)


class PythonExpression(Substitution):
    """The value of a Python expression, with the names of `math` and of the modules given."""

    def __init__(self, expression: SomeSubstitutionsType, python_modules: SomeSubstitutionsType = ("math",)) -> None:
        self.expression = normalize_to_list_of_substitutions(expression)
        self.python_modules = normalize_to_list_of_substitutions(python_modules)

    def describe(self) -> str:
        """See the base class."""
        modules = ", ".join(module.describe() for module in self.python_modules)
        return f"PythonExpr({described(self.expression)}, [{modules}])"

    def perform(self, context: LaunchContext) -> str:
        """See the base class."""
        names: dict[str, Any] = {}
        for module_name in (context.perform_substitution(module) for module in self.python_modules):
            module = importlib.import_module(module_name)
            names.update(vars(module) if module_name == "math" else {}, **{module_name: module})
        return str(eval(perform_substitutions(context, self.expression), {}, names))


def _operand(value: Any) -> Any:
    if is_substitution(value):
        return value
    if value is None:
        return ""
    return _lower(value) if isinstance(value, bool) else str(value)


def _equal(left: str, right: str) -> bool:
    if left.lower() in _BOOLEANS and right.lower() in _BOOLEANS:
        return (left.lower() in _TRUE) == (right.lower() in _TRUE)
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right
