"""A stand-in for ROS 2 `launch` on machines without a ROS distribution; see ../README.md."""

from ._support import install_module_guard, missing_attribute

install_module_guard()

from . import (  # noqa: E402  the guard must exist before the submodules are imported
    actions,
    conditions,
    event_handlers,
    events,
    launch_description_sources,
    logging,
    substitutions,
    utilities,
)
from .action import Action  # noqa: E402
from .condition import Condition  # noqa: E402
from .event import Event  # noqa: E402
from .event_handler import EventHandler  # noqa: E402
from .launch_context import LaunchContext  # noqa: E402
from .launch_description import LaunchDescription  # noqa: E402
from .launch_description_entity import LaunchDescriptionEntity  # noqa: E402
from .launch_description_source import LaunchDescriptionSource  # noqa: E402
from .launch_service import LaunchService  # noqa: E402
from .some_entities_type import SomeEntitiesType, SomeEntitiesType_types_tuple  # noqa: E402
from .some_substitutions_type import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple  # noqa: E402
from .substitution import Substitution  # noqa: E402

__getattr__ = missing_attribute(__name__)
__all__ = [
    "Action",
    "Condition",
    "Event",
    "EventHandler",
    "LaunchContext",
    "LaunchDescription",
    "LaunchDescriptionEntity",
    "LaunchDescriptionSource",
    "LaunchService",
    "SomeEntitiesType",
    "SomeEntitiesType_types_tuple",
    "SomeSubstitutionsType",
    "SomeSubstitutionsType_types_tuple",
    "Substitution",
    "actions",
    "conditions",
    "event_handlers",
    "events",
    "launch_description_sources",
    "logging",
    "substitutions",
    "utilities",
]
