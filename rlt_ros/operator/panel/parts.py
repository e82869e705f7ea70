"""What all pages of one panel share."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from rlt_ros.operator.client import Client
from rlt_ros.operator.keys import Keys
from rlt_ros.operator.panel.curve import Curve
from rlt_ros.operator.panel.pictures import Pictures


@dataclass(frozen=True)
class Panel:
    """cameras: name to topic. rate: pictures a second of each camera, at most. name: of this process, so that a page
    knows one that was started again.
    """

    client: Client
    keys: Keys
    cameras: Mapping[str, str]
    pictures: Pictures
    curve: Curve
    rate: float
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
