"""Quality of service: from the command line, from YAML, and what suits the endpoints that are there."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import IO, Any

import yaml
from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    InvalidQoSProfileException,
    LivelinessPolicy,
    QoSPresetProfiles,
    QoSProfile,
    ReliabilityPolicy,
)

POLICIES = {
    "history": HistoryPolicy,
    "reliability": ReliabilityPolicy,
    "durability": DurabilityPolicy,
    "liveliness": LivelinessPolicy,
}
DURATIONS = ("deadline", "lifespan", "liveliness_lease_duration")
VALUES = ("depth", "avoid_ros_namespace_conventions")


def add_qos_arguments(parser: argparse.ArgumentParser) -> None:
    """`--qos-profile` and the options that change parts of it."""
    add = parser.add_argument
    add("--qos-profile", choices=QoSPresetProfiles.short_keys(), help="preset (default: as the publishers offer)")
    add("--qos-depth", metavar="N", type=int, help="queue size")
    for name, policy in POLICIES.items():
        add(f"--qos-{name}", choices=policy.short_keys(), help="overrides that of --qos-profile")
    add("--qos-liveliness-lease-duration-seconds", type=float, help="overrides that of --qos-profile")


def chosen(args: argparse.Namespace, publishers: Sequence[Any]) -> QoSProfile:
    """What the options say; without any, what the publishers offer."""
    profile = QoSPresetProfiles.get_from_short_key(args.qos_profile or "sensor_data")
    wanted = {name: getattr(args, f"qos_{name}") for name in POLICIES}
    lease = args.qos_liveliness_lease_duration_seconds
    if args.qos_profile is None and args.qos_depth is None and lease is None and not any(wanted.values()):
        return adapted(profile, publishers)
    for name, value in wanted.items():
        if value:
            setattr(profile, name, POLICIES[name].get_from_short_key(value))
    if lease is not None:
        profile.liveliness_lease_duration = Duration(seconds=lease)
    profile.depth = args.qos_depth if args.qos_depth is not None else max(profile.depth, 1)
    return profile


def adapted(profile: QoSProfile, publishers: Sequence[Any], say: Any = print) -> QoSProfile:
    """The profile with the reliability and durability that every one of the publishers (endpoint infos) can serve."""
    offers = [publisher.qos_profile for publisher in publishers]
    if not offers:
        return profile
    reliable = [o.reliability == ReliabilityPolicy.RELIABLE for o in offers]
    latched = [o.durability == DurabilityPolicy.TRANSIENT_LOCAL for o in offers]
    profile.reliability = ReliabilityPolicy.RELIABLE if all(reliable) else ReliabilityPolicy.BEST_EFFORT
    profile.durability = DurabilityPolicy.TRANSIENT_LOCAL if all(latched) else DurabilityPolicy.VOLATILE
    for some, what, instead in ((reliable, "reliable", "best_effort"), (latched, "transient_local", "volatile")):
        if any(some) and not all(some):
            say(f"Some, but not all, publishers of {publishers[0].topic_type} offer {what}; falling back to {instead}")
    return profile


def overrides_from(file: IO[str] | None) -> dict[str, QoSProfile]:
    """Profiles by topic of the file of `--qos-profile-overrides-path`. Raises ValueError naming the file."""
    if file is None:
        return {}
    try:
        return from_yaml(yaml.safe_load(file))
    except (yaml.YAMLError, InvalidQoSProfileException, ValueError) as error:
        raise ValueError(f"{file.name}: {error}") from error


def from_yaml(values: Mapping[str, Mapping[str, Any]]) -> dict[str, QoSProfile]:
    """Profiles by topic of plain values. Raises ValueError naming topic and key."""
    if not isinstance(values, Mapping):
        raise ValueError(f"expected profiles by topic, found {values!r}")
    return {topic: profile_from(topic, profile) for topic, profile in values.items()}


def profile_from(topic: str, values: Mapping[str, Any]) -> QoSProfile:
    """One profile by the names of its policies."""
    arguments: dict[str, Any] = {}
    for key, value in values.items():
        if key in POLICIES:
            if value not in POLICIES[key].short_keys():
                raise ValueError(f"{topic}: {key} is {value!r}; expected one of {POLICIES[key].short_keys()}")
            arguments[key] = POLICIES[key].get_from_short_key(value)
        elif key in DURATIONS:
            arguments[key] = _duration(topic, key, value)
        elif key not in VALUES:
            raise ValueError(f"Unexpected key `{key}` for QoS profile of {topic}.")
        elif value < 0:
            raise ValueError(f"{topic}: `{key}` may not be a negative value.")
        else:
            arguments[key] = value
    return QoSProfile(**{"depth": 10, **arguments})


def _duration(topic: str, key: str, value: Any) -> Duration:
    try:
        return Duration(seconds=value["sec"], nanoseconds=value["nsec"])
    except (TypeError, KeyError):
        raise ValueError(f"{topic}: {key} is {value!r}; expected sec and nsec") from None
