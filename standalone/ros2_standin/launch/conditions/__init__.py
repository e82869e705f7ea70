"""Conditions of actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._support import missing_attribute
from ..condition import Condition
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

__getattr__ = missing_attribute(__name__)
__all__ = [
    "IfCondition",
    "InvalidConditionExpressionError",
    "LaunchConfigurationEquals",
    "LaunchConfigurationNotEquals",
    "UnlessCondition",
    "evaluate_condition_expression",
]

_VALUES = {"true": True, "1": True, "false": False, "0": False}


class InvalidConditionExpressionError(ValueError):
    """A condition is neither true nor false."""


def evaluate_condition_expression(context: LaunchContext, expression: list[Substitution]) -> bool:
    """Return the truth of an expression: true, 1, false or 0 in any case."""
    text = perform_substitutions(context, expression).strip().lower()
    if text not in _VALUES:
        parts = " + ".join(part.describe() for part in expression)
        raise InvalidConditionExpressionError(
            f"invalid condition expression, expected one of [true, 1, false, 0] but got '{text}',"
            f" expanded from '{parts}'"
        )
    return _VALUES[text]


class IfCondition(Condition):
    """Holds if the expression is true."""

    def __init__(self, predicate_expression: SomeSubstitutionsType) -> None:
        expression = normalize_to_list_of_substitutions(predicate_expression)
        super().__init__(predicate=lambda context: evaluate_condition_expression(context, expression))


class UnlessCondition(Condition):
    """Holds if the expression is false."""

    def __init__(self, predicate_expression: SomeSubstitutionsType) -> None:
        expression = normalize_to_list_of_substitutions(predicate_expression)
        super().__init__(predicate=lambda context: not evaluate_condition_expression(context, expression))


class LaunchConfigurationEquals(Condition):
    """Holds if a launch configuration has the value; None means that it is not set."""

    def __init__(self, launch_configuration_name: str, expected_value: SomeSubstitutionsType | None) -> None:
        self.__name = launch_configuration_name
        self.__expected = None if expected_value is None else normalize_to_list_of_substitutions(expected_value)
        super().__init__(predicate=self._equals)

    def _equals(self, context: LaunchContext) -> bool:
        expected = None if self.__expected is None else perform_substitutions(context, self.__expected)
        return context.launch_configurations.get(self.__name) == expected


class LaunchConfigurationNotEquals(LaunchConfigurationEquals):
    """Holds if a launch configuration does not have the value."""

    def evaluate(self, context: LaunchContext) -> bool:
        """See the base class."""
        return not super().evaluate(context)
