"""Helpers for substitutions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._support import missing_attribute
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution

if TYPE_CHECKING:
    from ..launch_context import LaunchContext

__getattr__ = missing_attribute(__name__)


def normalize_to_list_of_substitutions(subs: SomeSubstitutionsType) -> list[Substitution]:
    """Return text, a substitution or a sequence of both as a list of substitutions."""
    from ..substitutions import TextSubstitution

    def normalize(item: object) -> Substitution:
        if isinstance(item, Substitution):
            return item
        if isinstance(item, str):
            return TextSubstitution(text=item)
        raise TypeError(f"expected text or a launch.Substitution, got '{type(item)}'")

    return [normalize(subs)] if isinstance(subs, (str, Substitution)) else [normalize(item) for item in subs]


def perform_substitutions(context: LaunchContext, subs: Iterable[Substitution]) -> str:
    """Return the joined text of the substitutions."""
    return "".join(context.perform_substitution(sub) for sub in subs)


def perform_text(context: LaunchContext, subs: SomeSubstitutionsType) -> str:
    """Return the text of whatever may be given where a substitution is expected."""
    return perform_substitutions(context, normalize_to_list_of_substitutions(subs))
