"""Types of what may be given where entities are expected."""

from collections.abc import Iterable
from typing import Union

from .launch_description_entity import LaunchDescriptionEntity

SomeEntitiesType = Union[LaunchDescriptionEntity, Iterable[LaunchDescriptionEntity]]
SomeEntitiesType_types_tuple = (LaunchDescriptionEntity, Iterable)


def entity_list(entities: SomeEntitiesType | None) -> list[LaunchDescriptionEntity]:
    """Return one entity, several or none as a list."""
    if entities is None:
        return []
    if isinstance(entities, LaunchDescriptionEntity):
        return [entities]
    return [entity for entity in entities if entity is not None]
