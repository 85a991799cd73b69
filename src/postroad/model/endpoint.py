"""Endpoints: places of a tenant that events are sent to, and the set of them that a publish is
matched against."""

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.entities import Policy
from postroad.model.errors import BadInput, UnknownEndpoint
from postroad.model.ids import read_id, to_digits
from postroad.model.states import NEVER
from postroad.model.texts import NAME_MAX, checked

PREFIX: Final = "ep_"
QUEUE_PREFIX: Final = "endpoint:"
"""What the name of an endpoint's queue begins with; its id follows."""
TYPE: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
PATTERN: Final = re.compile(r"\*|([A-Za-z0-9_-]+\.)+\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
CHANNEL: Final = re.compile(r"[A-Za-z0-9_.:-]+")
LISTED_MAX: Final = 100
"""Types or channels of one endpoint, and channels of one event."""
ENABLED: Final = "enabled"
DISABLED: Final = "disabled"
DELETING: Final = "deleting"
FEED: Final = "feed"
"""The transport of endpoints that are read: no process sends to them."""
OPERATOR: Final = "postroad.operator"
"""The tenant whose endpoints, and the handler that, get operational events."""


class EndpointSpec(Struct, frozen=True):
    """Which events an endpoint gets, and what its owner notes about it."""

    types: tuple[str, ...] = ()
    """Names of event types, or patterns as `order.*`; none is all."""
    channels: tuple[str, ...] = ()
    """Events need one of these channels; none is all events."""
    filter: dict[str, object] | None = None
    """What the body must be like."""
    description: str = ""
    metadata: dict[str, str] = {}
    rate: str = ""
    """How many tries may start, as it was set here."""


class EndpointLife(Struct, frozen=True):
    """The state of an endpoint, and the spell of failures that it is in."""

    state: str = ENABLED
    disabled_by: str = ""
    """`owner`, `operator` or `itself`, while it is disabled."""
    reason: str = ""
    """Why it is not enabled."""
    changed_at_ms: int = 0
    """When it was last enabled or disabled."""
    failing_since_ms: int = 0
    """The first failure after its last success; 0 while it is healthy."""
    failed_at_ms: int = 0
    """The last failure."""
    error: str = ""
    noticed_at_ms: int = 0
    """When the operator was told of this spell; 0: not yet."""
    spell_since_ms: int = 0
    """The start of the spell that it was last disabled in: what died since can be recovered."""
    draining_since_ms: int = 0
    """From when on what was held drains at the set rate; 0: it does not."""
    secret_notice_ms: int = 0
    """When the operator is to be told that a secret ends; 0: never."""


class EndpointRow(Struct, frozen=True):
    """An endpoint as it is stored. `version` counts its changes."""

    id: int
    tenant: str
    queue: int
    url: str
    spec: bytes
    made_at_ms: int
    version: int
    expires_at_ms: int = NEVER
    """When it is deleted."""
    life: EndpointLife = EndpointLife()


class MoveState(StrEnum):
    """What became of the move of an endpoint's queue to another lane."""

    moved = "moved"
    owned = "owned"
    """Its lane has an owner, who was asked to give it back: move it again in a moment."""
    changed = "changed"
    """Nothing was done: it is not of the version before this one any more."""


class EndpointEntry(Struct, frozen=True):
    """An endpoint with the policy of its queue and its lane, as a list or a publish reads it."""

    row: EndpointRow
    policy: Policy
    lane: int
    gone: str = ""
    """What its receiver said when it asked never to be called again (410)."""


class EndpointSet(Struct, frozen=True):
    """The endpoints of a tenant, as of a version. Disabled ones are among them: what is published
    for them is held."""

    version: int
    endpoints: list[EndpointEntry]


def endpoint_id(number: int) -> str:
    """Return an endpoint's id as users see it."""
    return PREFIX + to_digits(number)


def endpoint_number(text: str) -> int:
    """Return an endpoint's id as the store keeps it."""
    number = read_id(text, PREFIX)
    if number is None:
        raise UnknownEndpoint(f"{text[:40]!r} is no endpoint's id; they look like {PREFIX}0123…")
    return number


def queue_name(number: int) -> str:
    """Return the name of an endpoint's queue."""
    return QUEUE_PREFIX + endpoint_id(number)


def is_endpoint_queue(name: str) -> bool:
    """Whether a queue is an endpoint's, by the form of its name."""
    return read_id(name, QUEUE_PREFIX + PREFIX) is not None


def check_type(name: str) -> str:
    """Return the name of an event type; BadInput if it is none."""
    if not TYPE.fullmatch(checked("event type", name, NAME_MAX)):
        raise BadInput(f"{name!r:.60} is no event type: letters, digits, _ and -, as order.paid")
    return name


def check_types(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the event types of an endpoint, each once; BadInput if one is no name or pattern."""
    for one in given:
        if not PATTERN.fullmatch(checked("event type", one, NAME_MAX)):
            raise BadInput(f"types: {one!r:.60} is none: give order.paid, order.* or *")
    return _some("types", given)


def check_channels(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return channels, each once; BadInput if one is no name."""
    for one in given:
        if not CHANNEL.fullmatch(checked("channel", one, NAME_MAX)):
            raise BadInput(f"channels: {one!r:.60} is none: letters, digits, _ - . and :")
    return _some("channels", given)


def _some(name: str, given: tuple[str, ...]) -> tuple[str, ...]:
    if len(given) > LISTED_MAX:
        raise BadInput(f"{len(given)} {name}: at most {LISTED_MAX}")
    return tuple(dict.fromkeys(given))
