"""Named limits: one limit for all lanes that a pattern means, such as those of a provider."""

from typing import Final

from msgspec import Struct

from postroad.model.lane_patterns import check_pattern
from postroad.model.pace import Limit

LIMITS_MAX: Final = 200
"""Named limits of one tenant. Each lane that is read is compared with all of them."""


class NamedLimit(Struct, frozen=True):
    """A limit by its name. `tenant` is whose lanes it is for; `*` means those of every tenant."""

    name: str
    tenant: str
    lanes: str
    """A pattern of transport and server: `smtp:*.google.com`."""
    rate: str
    cost: int = 1
    hours: str = ""
    zone: str = ""
    until_ms: int = 0
    """When it ends by itself; 0 is never."""


class NewLimit(Struct, frozen=True):
    """A named limit that is to be stored."""

    name: str
    tenant: str
    lanes: str
    limit: Limit
    until_ms: int = 0

    def __post_init__(self) -> None:
        _ = check_pattern(self.lanes)  # raises
