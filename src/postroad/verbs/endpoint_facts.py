"""Endpoints as people see and set them."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final, Literal, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from postroad.model.durations import Duration, seconds_of
from postroad.model.endpoint import (
    OPERATOR,
    EndpointEntry,
    EndpointSpec,
    check_channels,
    check_types,
    endpoint_id,
    queue_name,
)
from postroad.model.endpoint_life import ITSELF, LifeEvent
from postroad.model.errors import BadInput
from postroad.model.filters import compiled, filter_fault
from postroad.model.ladder import Ladder
from postroad.model.matching import SPEC, unknown_types
from postroad.model.pace import read_limit
from postroad.model.states import NEVER
from postroad.model.texts import ERROR_MAX, KEY_MAX, NAME_MAX, checked
from postroad.model.webhook import HeaderNames, Hook, HookSecrets, WebhookRules
from postroad.ports.entropy import secret_bytes
from postroad.ports.events import EventStore
from postroad.transports.webhook.signing import SYMMETRIC
from postroad.verbs.hook_access import (
    ACCESS_NAMES,
    AccessFacts,
    AccessOptions,
    access_facts,
    check_tls_is_used,
)
from postroad.verbs.webhooks import HookOptions, changed

METADATA_MAX: Final = 50
SECRET_BYTES: Final = 32
HOOK_NAMES: Final = ("headers", "reject", "connect_timeout", "timeout", "names", *ACCESS_NAMES)
CALLED_NAMES: Final = (
    *("headers", "reject", "connect_timeout", "timeout", "ladder", "rate"),
    *("auth", "tls", "transform"),
)
"""Options of endpoints that are called."""
EXPIRES_S_MAX: Final = 366 * 86_400.0
SPEC_NAMES: Final = ("types", "channels", "filter", "description", "metadata", "rate")


class EndpointOptions(AccessOptions, total=False):
    """Options of an endpoint; what is not given keeps its value."""

    types: Sequence[str]
    """Event types that it gets, as `order.paid` or `order.*`; none is all."""
    channels: Sequence[str]
    """The endpoint gets events with one of these channels; none is all events."""
    filter: dict[str, object] | None
    """What the body of an event must be like."""
    description: str
    metadata: dict[str, str]
    headers: dict[str, str]
    """Sent with every request; stored encrypted."""
    reject: Sequence[int]
    connect_timeout: Duration
    timeout: Duration
    names: HeaderNames
    ladder: Ladder
    rate: str
    """How many tries may start, as 50/s; "" is no limit."""
    keep_bodies: Duration
    expires_in: Duration
    """It is deleted after so long, unless this is set again before; 0 is never."""


class EndpointFacts(AccessFacts, frozen=True):
    """An endpoint without its secrets."""

    id: str
    url: str
    state: Literal["enabled", "disabled", "deleting"]
    disabled_by: Literal["", "owner", "operator", "itself"]
    reason: str
    """Why it is disabled."""
    changed_at_ms: int
    """When it was last enabled or disabled."""
    health: Literal["healthy", "failing"]
    failing_since_ms: int
    """The first failure after its last success; 0 while it is healthy."""
    last_error: str
    draining_since_ms: int
    """Since when what was held is sent at the set rate; 0: nothing is left of it."""
    made_at_ms: int
    types: tuple[str, ...]
    channels: tuple[str, ...]
    filter: dict[str, object] | None
    description: str
    metadata: dict[str, str]
    rate: str
    queue: str
    """The queue where its messages wait."""
    secrets: int
    """How many sign now."""
    headers: tuple[str, ...]
    reject: tuple[int, ...]
    connect_timeout_ms: int
    timeout_ms: int
    names: HeaderNames
    ladder: Ladder
    ordered: bool
    keep_bodies_ms: int
    expires_at_ms: int | None = None
    """When it is deleted, if it is made for a while."""
    secret_ends_at_ms: int | None = None
    """When the secret before the last one ends, while both sign."""
    pull: bool = False
    """Whether it is read, and not called."""
    unknown_types: tuple[str, ...] = ()
    """Those of its types that no event type of this road fits, where it has some."""
    fault: str = ""
    """Why its secrets cannot be opened, and are not counted; or why its filter, which then nothing
    matches, cannot be used."""


class NewEndpoint(EndpointFacts, frozen=True, kw_only=True):
    """An endpoint with its new secret, which cannot be shown again."""

    secret: str


class EndpointPage(Struct, frozen=True):
    """A page of endpoints in order of their making. `after` is for the next page; "" is the end."""

    endpoints: tuple[EndpointFacts, ...]
    after: str = ""


def facts_of(
    entry: EndpointEntry, hook: Hook, secrets: HookSecrets, rules: WebhookRules, now_ms: int
) -> EndpointFacts:
    """An endpoint as it is shown."""
    row, spec = entry.row, SPEC.decode(entry.row.spec)
    life = row.life
    # A process that is killed has not written what made it disable the endpoint.
    fails = life.failing_since_ms or (life.changed_at_ms if life.disabled_by == ITSELF else 0)
    return EndpointFacts(
        id=endpoint_id(row.id),
        url=row.url,
        state=cast('Literal["enabled", "disabled", "deleting"]', life.state),
        disabled_by=cast('Literal["", "owner", "operator", "itself"]', life.disabled_by),
        reason=life.reason,
        changed_at_ms=life.changed_at_ms,
        health="failing" if fails else "healthy",
        failing_since_ms=fails,
        last_error=life.error or (life.reason if fails else ""),
        draining_since_ms=life.draining_since_ms,
        made_at_ms=row.made_at_ms,
        types=spec.types,
        channels=spec.channels,
        filter=spec.filter,
        description=spec.description,
        metadata=spec.metadata,
        rate=spec.rate,
        queue=queue_name(row.id),
        secrets=len(secrets.live(now_ms)),
        headers=tuple(secrets.headers),
        reject=hook.reject,
        connect_timeout_ms=hook.connect_timeout_ms or rules.connect_timeout_ms,
        timeout_ms=hook.timeout_ms or rules.timeout_ms,
        names=hook.names,
        ladder=entry.policy.ladder,
        ordered=entry.policy.ordered,
        keep_bodies_ms=entry.policy.keep_bodies_ms,
        pull=not row.url,
        expires_at_ms=row.expires_at_ms if row.expires_at_ms < NEVER else None,
        secret_ends_at_ms=max((end for _, end in secrets.ending if end > now_ms), default=None),
        fault=filter_fault(spec.filter),
        **access_facts(hook, secrets),
    )


async def with_unknown(
    store: EventStore, tenant: str, shown: tuple[EndpointFacts, ...]
) -> tuple[EndpointFacts, ...]:
    """Endpoints with those of their types that are misspelt, or are still to come."""
    if not any(one.types for one in shown):
        return shown
    found = list(LifeEvent) if tenant == OPERATOR else (await store.event_types()).types
    known = [each if isinstance(each, str) else each.name for each in found]
    if not known:  # then every name can be published
        return shown
    return tuple(replace(one, unknown_types=unknown_types(one.types, known)) for one in shown)


def new_secret() -> str:
    """Make a signing secret."""
    return SYMMETRIC + b64encode(secret_bytes(SECRET_BYTES)).decode()


def with_secret(facts: EndpointFacts, secret: str) -> NewEndpoint:
    """An endpoint with its new secret."""
    return NewEndpoint(**asdict(facts), secret=secret)


def check_way(url: str, options: EndpointOptions, *, pull: bool) -> None:
    """Refuse an endpoint that is neither called nor read, and options that do not fit."""
    if url and pull:
        raise BadInput("url: an endpoint with pull is read and not called: give one of the two")
    if not url and not pull:
        raise BadInput("url: give one, or pull for an endpoint that is read and not called")
    if pull and (given := [name for name in CALLED_NAMES if options.get(name)]):
        raise BadInput(f"{given[0]}: an endpoint that is read is never called: leave it out")


def changed_endpoint(
    spec: EndpointSpec, hook: Hook, secrets: HookSecrets, options: EndpointOptions
) -> tuple[EndpointSpec, Hook, HookSecrets]:
    """Check what is to change."""
    own = {name: value for name, value in options.items() if name in SPEC_NAMES}
    spec = _checked_spec(replace(spec, **own))
    given = {name: value for name, value in options.items() if name in HOOK_NAMES}
    hook, secrets = changed(hook, secrets, cast(HookOptions, given))
    check_tls_is_used(hook.url, secrets)
    return spec, hook, secrets


def expiry_of(options: EndpointOptions, now_ms: int) -> int:
    """When an endpoint is to be deleted."""
    given = options.get("expires_in", 0)
    span_s = seconds_of(given)
    if not 0 <= span_s <= EXPIRES_S_MAX:
        raise BadInput(f"expires_in={given!r}: give seconds or a timedelta, at most 366 days")
    return now_ms + int(span_s * 1000) if span_s else NEVER


def _checked_spec(spec: EndpointSpec) -> EndpointSpec:
    types, channels = check_types(tuple(spec.types)), check_channels(tuple(spec.channels))
    if spec.filter is not None:
        _ = compiled(spec.filter)  # whether it can be
    if spec.rate:
        _ = read_limit(spec.rate)  # whether it is one
    _ = checked("description", spec.description, ERROR_MAX)  # whether it is short enough
    if len(spec.metadata) > METADATA_MAX:
        raise BadInput(f"metadata has {len(spec.metadata)} entries: at most {METADATA_MAX}")
    for name, text in spec.metadata.items():
        if type(name) is not str or type(text) is not str:
            raise BadInput(f"metadata {name!r:.60}: its name and its value must be texts")
        # Whether they are short enough.
        _ = checked("metadata", name, NAME_MAX), checked("metadata", text, KEY_MAX)
    return replace(spec, types=types, channels=channels)
