"""Where a launch description comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .launch_description import LaunchDescription
from .some_substitutions_type import SomeSubstitutionsType
from .utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from .launch_context import LaunchContext


class LaunchDescriptionSource:
    """A launch description, given as such or to be read from a location."""

    def __init__(
        self,
        launch_description: LaunchDescription | None = None,
        location: SomeSubstitutionsType = "<string>",
        method: str = "unspecified mechanism from a script",
    ) -> None:
        self.__launch_description = launch_description
        self.__location = normalize_to_list_of_substitutions(location)
        self.__expanded_location: str | None = None
        self.method = method

    @property
    def location(self) -> str:
        """The location; what is known of it before it has been read."""
        if self.__expanded_location is None:
            return " + ".join(part.describe() for part in self.__location)
        return self.__expanded_location

    def get_launch_description(self, context: LaunchContext) -> LaunchDescription:
        """Return the description, reading it the first time."""
        if self.__expanded_location is None:
            self.__expanded_location = perform_substitutions(context, self.__location)
        if self.__launch_description is None:
            self.__launch_description = self._get_launch_description(self.__expanded_location)
        return self.__launch_description

    def try_get_launch_description_without_context(self) -> LaunchDescription | None:
        """Return the description if that needs no running launch, for `--show-args`."""
        from .launch_context import LaunchContext

        if self.__launch_description is not None:
            return self.__launch_description
        try:
            return self._get_launch_description(perform_substitutions(LaunchContext(), self.__location))
        except Exception:  # whatever the file does, it may need the context that is missing here
            return None

    def _get_launch_description(self, location: str) -> LaunchDescription:
        raise RuntimeError(f"no launch description given and '{location}' cannot be read")
