"""The life of an endpoint: when its operator is told, when it is disabled, and what is counted."""

from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.endpoint import DISABLED, ENABLED, EndpointEntry, EndpointLife
from postroad.model.entities import DAY_MS
from postroad.model.errors import BadInput
from postroad.model.event import Publish
from postroad.model.outcome import Kind
from postroad.model.pace import Limit, read_limit
from postroad.model.rollup import KINDS
from postroad.model.wording import duration_text

By = Literal["owner", "operator"]
ITSELF: Final = "itself"
TOOK_BUCKETS: Final = 18
"""Bucket n counts tries that took less than 2^n ms; the last one the rest: more than a minute."""
DEAD: Final = len(KINDS)
TOOK: Final = DEAD + 1
SETUP: Final = TOOK + TOOK_BUCKETS
WIDTH: Final = SETUP + 1
"""The counts of an hour: tries by outcome, messages that died, answered tries by their time, and
tries that were not made because something is missing on our side."""
COUNTS: Final = (*map(str, KINDS), "dead", *(f"took{n}" for n in range(TOOK_BUCKETS)), "setup")
"""Their names in the store."""
HOUR_MS: Final = 3_600_000
HOURS_KEPT_MS: Final = 35 * DAY_MS
FAILURES: Final = frozenset(
    (Kind.failed, Kind.rejected, Kind.quota, Kind.unreachable, Kind.unknown)
)
UNTIMED: Final = frozenset((Kind.unreachable, Kind.later))
"""Tries without an answer that could have taken time."""


class EndpointRules(Struct, frozen=True):
    """When an endpoint that fails is told of and disabled, how much is held for a disabled one, and
    how fast that drains. Times in seconds."""

    notice_after_s: float = 86_400.0
    """The operator is told of an endpoint that has had nothing but failures for so long."""
    disable_after_s: float = 5 * 86_400.0
    """It is disabled after so long; 0: never."""
    hold_for_s: float = 14 * 86_400.0
    """What is held for longer is dead, `expired_held`; 0: it is held for ever."""
    hold_max: int = 100_000
    """Maximum held messages; the oldest beyond it are dead, `excess_held`. 0: no limit."""
    dead_every_s: float = 300.0
    """The operator is told of dead messages of an endpoint at most once in so long; 0: never."""
    drain: str = "50/s"
    """How fast what was held is sent, if the endpoint has no rate of its own; "": at once."""

    def __post_init__(self) -> None:
        times = (self.notice_after_s, self.disable_after_s, self.hold_for_s, self.dead_every_s)
        if any(not 0 <= each <= 366 * 86_400 for each in times):
            raise BadInput("endpoint rules: times are from 0 to 366 days, in seconds")
        if not 0 <= self.hold_max <= 1 << 40:
            raise BadInput("hold_max: give a number from 0 (no limit) on")
        if self.drain:
            _ = read_limit(self.drain)  # whether it is one


class EndpointDisabled(BadInput):
    """Nothing is sent to the endpoint, so it cannot be tested. Enable it first."""


class LifeEvent(StrEnum):
    """Operational events about endpoints."""

    failing = "endpoint.failing"
    disabled = "endpoint.disabled"
    recovered = "endpoint.recovered"
    dead = "message.dead"
    """Gathered: so many messages of an endpoint died."""
    secret_expiring = "endpoint.secret_expiring"  # noqa: S105 - the name of an event


class Turn(Struct, frozen=True):
    """A change of an endpoint's life, made unless somebody else has changed the endpoint since.
    `paused` and `failing_since_ms`: None leaves them as they are."""

    number: int
    version: int
    queue: int
    life: EndpointLife
    paused: bool | None = None
    failing_since_ms: int | None = None
    publish: Publish | None = None
    """The operational event, stored in the same transaction."""
    drain: Limit | None = None
    """The limit of its queue while it drains, or that this one is lifted. One that somebody set
    stays."""


class Turned(StrEnum):
    """What became of a turn."""

    done = "done"
    changed = "changed"
    """Somebody else has changed the endpoint: nothing is stored."""
    moved = "moved"
    """The operator's endpoints have changed since the event was matched: nothing is stored."""


class EndpointHour(Struct, frozen=True):
    """What is added to an hour of an endpoint's queue, and how its spell stands since."""

    queue: int
    at_ms: int
    counts: tuple[int, ...]
    succeeded: bool
    failing_since_ms: int
    """The first failure after the last success here; 0 if there was none."""
    failed_at_ms: int
    error: str


def judge(
    entry: EndpointEntry, rules: EndpointRules, now_ms: int
) -> tuple[LifeEvent, EndpointLife] | None:
    """What is to change about an endpoint now, and the event that tells it."""
    life = entry.row.life
    if life.state == ENABLED:
        spell_ms = life.failed_at_ms - life.failing_since_ms if life.failing_since_ms else -1
        if entry.gone:
            return LifeEvent.disabled, disabled_life(life, ITSELF, entry.gone, now_ms)
        if rules.disable_after_s and spell_ms >= rules.disable_after_s * 1000:
            why = f"nothing but failures for {duration_text(spell_ms)}: {life.error}"
            return LifeEvent.disabled, disabled_life(life, ITSELF, why, now_ms)
        if not life.noticed_at_ms and spell_ms >= rules.notice_after_s * 1000:
            return LifeEvent.failing, replace(life, noticed_at_ms=now_ms)
        if life.noticed_at_ms and not life.noticed_at_ms >= life.failing_since_ms > 0:
            return LifeEvent.recovered, replace(life, noticed_at_ms=0)
    if 0 < life.secret_notice_ms <= now_ms:
        return LifeEvent.secret_expiring, replace(life, secret_notice_ms=0)
    return None


def disabled_life(life: EndpointLife, by: str, reason: str, now_ms: int) -> EndpointLife:
    """An endpoint's life from when it is disabled on. What has died since its spell began can be
    recovered. A process that was killed has not told when it began: then of the last hour."""
    return replace(
        life,
        state=DISABLED,
        disabled_by=by,
        reason=reason,
        changed_at_ms=now_ms,
        noticed_at_ms=life.noticed_at_ms or (now_ms if by == ITSELF else 0),
        spell_since_ms=life.failing_since_ms or (now_ms - (HOUR_MS if by == ITSELF else 0)),
        draining_since_ms=0,
    )


def enabled_life(life: EndpointLife, now_ms: int) -> EndpointLife:
    """An endpoint's life from when it is enabled on: what was held drains. One that failed has not
    recovered before something is delivered."""
    return replace(
        life,
        state=ENABLED,
        disabled_by="",
        reason="",
        changed_at_ms=now_ms,
        noticed_at_ms=now_ms if life.noticed_at_ms else 0,
        draining_since_ms=now_ms,
    )
