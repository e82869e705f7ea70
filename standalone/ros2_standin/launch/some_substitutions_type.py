"""Types of what may be given where a substitution is expected."""

from collections.abc import Iterable
from typing import Union

from .substitution import Substitution

SomeSubstitutionsType = Union[str, Substitution, Iterable[str | Substitution]]
SomeSubstitutionsType_types_tuple = (str, Substitution, Iterable)
