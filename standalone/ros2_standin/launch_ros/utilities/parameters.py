"""Parameter dictionaries: from what launch files may write to plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from launch import LaunchContext, Substitution

from ..parameter_descriptions import Parameter, ParameterFile, ParameterValue

ParametersDict = dict[tuple[Substitution, ...], Any]

_SCALARS = (bool, int, float, str)


def normalize_parameters(parameters: Any) -> list[Any]:
    """Return each entry as a normalised dictionary, a ParameterFile or a Parameter."""
    if isinstance(parameters, str) or not isinstance(parameters, Sequence):
        raise TypeError(f"Expecting list of parameters, got {parameters}")
    return [_normalize_entry(entry) for entry in parameters]


def normalize_parameter_dict(parameters: Mapping[Any, Any], prefix: Sequence[Substitution] = ()) -> ParametersDict:
    """Return a flat dictionary, nested names joined with dots, whose values can be evaluated."""
    flat: ParametersDict = {}
    for key, value in parameters.items():
        dot = normalize_to_list_of_substitutions(".") if prefix else []
        name = (*prefix, *dot, *normalize_to_list_of_substitutions(key))
        if isinstance(value, Mapping):
            flat.update(normalize_parameter_dict(value, name))
        else:
            flat[name] = _normalize_value(value)
    return flat


def evaluate_parameter_dict(context: LaunchContext, parameters: ParametersDict) -> dict[str, Any]:
    """Return names and plain values."""
    named = ((perform_substitutions(context, name), value) for name, value in parameters.items())
    return {name: _evaluate(context, name, value) for name, value in named}


def _normalize_entry(entry: Any) -> Any:
    if isinstance(entry, Mapping):
        return normalize_parameter_dict(entry)
    return entry if isinstance(entry, (Parameter, ParameterFile)) else ParameterFile(entry)


def _normalize_value(value: Any) -> Any:
    """Return a scalar, a ParameterValue, a list of scalars, of substitutions, or of lists of those."""
    if isinstance(value, (ParameterValue, bool, int, float, str, bytes)):
        return value
    if isinstance(value, Substitution):
        return [value]
    if not isinstance(value, Sequence):
        raise TypeError(f"Unexpected type for parameter value {value!r}")
    return _normalize_sequence(value)


def _normalize_sequence(items: Sequence[Any]) -> list[Any]:
    """Return numbers as one type; text and substitutions side by side are the parts of one value."""
    kinds = {type(item) for item in items}
    if kinds == {int, float}:
        return [float(item) for item in items]
    if len(kinds) == 1 and kinds <= set(_SCALARS):
        return list(items)
    if any(isinstance(item, Substitution) for item in items) and all(
        isinstance(item, (str, Substitution)) for item in items
    ):
        return normalize_to_list_of_substitutions(items)
    return [_normalize_item(item) for item in items]


def _normalize_item(item: Any) -> list[Substitution]:
    return normalize_to_list_of_substitutions(yaml.dump(item) if isinstance(item, _SCALARS) else item)


def _evaluate(context: LaunchContext, name: str, value: Any) -> Any:
    if isinstance(value, ParameterValue):
        return value.evaluate(context)
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], Substitution):
        text = perform_substitutions(context, value)
        return _checked(name, _load(name, text) if text else "")
    if value and isinstance(value[0], list):
        return _checked(name, [yaml.safe_load(perform_substitutions(context, item)) for item in value])
    return _checked(name, value)


def _load(name: str, text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise TypeError(f"Unable to parse the value of parameter {name} as yaml; {_HINT}") from error


def _checked(name: str, value: Any) -> Any:
    if isinstance(value, (*_SCALARS, bytes)):
        return value
    if not isinstance(value, list):
        raise TypeError(f"Got {type(value)} for parameter {name}, expected a scalar or a list of them; {_HINT}")
    if not value or type(value[0]) not in _SCALARS or not all(isinstance(item, type(value[0])) for item in value):
        raise TypeError(f"Expected a non-empty sequence of one scalar type for parameter {name}, got {value}")
    return value


_HINT = "if it is meant to be a string, wrap it in ParameterValue(value, value_type=str)"
