"""Replays: jobs that send again what failed, what a window held, or what an endpoint missed."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.dead import DeadFilter, ReplayMode
from postroad.model.entities import Draft
from postroad.model.errors import BadInput
from postroad.model.event import EventRow, EventTarget, reference
from postroad.model.ids import read_id, to_digits
from postroad.model.pace import read_limit
from postroad.model.states import NEVER, DeadReason

PREFIX: Final = "rpl_"
HEADER: Final = "postroad-replay"
"""The header of a message that a replay made: which one."""
LEASE_MS: Final = 10_000
"""How long after its next slice is due a replay is left to its owner."""
SLICE_MAX: Final = 500
"""Messages that one transaction replays, unless one event has more."""


class UnknownReplay(BadInput):
    """No replay of that id is known. Check the id and its tenant: see `postroad replay list`."""


class NothingToReplay(BadInput):
    """No message or event matches what a replay was asked for; nothing was started. Check the
    times and the endpoint."""


class ReplayWhat(StrEnum):
    """What a replay sends."""

    failed = "failed"
    """Dead messages, by the time of their death."""
    all = "all"
    """Every event of a window that matches: delivered ones once more, dead ones are revived."""
    missed = "missed"
    """Events of a window that match an endpoint and were never sent to it."""


class ReplayState(StrEnum):
    """How a replay stands."""

    running = "running"
    paused = "paused"
    cancelled = "cancelled"
    done = "done"
    counted = "counted"
    """The replay was only counted: nothing is stored."""


class ReplaySpec(Struct, frozen=True, omit_defaults=True):
    """What a replay sends, and how fast."""

    what: ReplayWhat = ReplayWhat.failed
    endpoint: int = 0
    reason: str = ""
    error: str = ""
    since_ms: int = 0
    until_ms: int = NEVER
    mode: ReplayMode = ReplayMode.reset
    rate: str = ""


class ReplayJob(Struct, frozen=True):
    """A replay as it is stored."""

    id: int
    tenant: str
    queue: str
    """The only queue that is meant; empty for all of the tenant."""
    spec: ReplaySpec
    state: ReplayState
    reason: str
    """Why it does not run any more."""
    asked_at_ms: int
    ended_at_ms: int
    cursor: int
    """The last event that was looked at."""
    total: int
    replayed: int = 0
    waiting: int = 0
    owner: int = 0
    leased_until_ms: int = 0
    next_at_ms: int = 0

    @property
    def dead(self) -> DeadFilter:
        """The dead messages that are meant, of those that were dead when it was asked for."""
        spec = self.spec
        reason = DeadReason(spec.reason) if spec.reason else None
        times = (spec.since_ms, spec.until_ms)
        return DeadFilter(self.tenant, self.queue or None, reason, spec.error or None, *times)


class ReplayPair(Struct, frozen=True):
    """An event and an endpoint that it matches; `number` is for a new message. Its messages of the
    publish are those from `first` to `last`."""

    event: int
    first: int
    last: int
    target: EventTarget
    number: int


class PairState(Struct, frozen=True, array_like=True):
    """What there is of an event for an endpoint: an unfinished message, a dead one (0: none), any
    at all."""

    waiting: bool
    dead: int
    had: bool


class ReplaySlice(Struct, frozen=True):
    """What one transaction does, if the job still stands as it was read."""

    job: ReplayJob
    owner: int
    now_ms: int
    pairs: tuple[ReplayPair, ...] = ()
    cursor: int = 0
    ended: bool = False
    endpoints_version: int = 0


class Replayed(Struct, frozen=True):
    """What a slice did. `lost`: the job has moved, or another process has it. `moved`: the
    endpoints have changed. Nothing was done then."""

    lost: bool = False
    moved: bool = False
    replayed: int = 0
    waiting: int = 0
    ended: bool = False


class SortedPairs(Struct, frozen=True):
    """What becomes of the pairs of a slice."""

    drafts: list[Draft]
    made: list[ReplayPair]
    dead: tuple[int, ...]
    waiting: int

    @property
    def count(self) -> int:
        """How many messages are sent again."""
        return len(self.drafts) + len(self.dead)


def sort_pairs(step: ReplaySlice, states: list[PairState]) -> SortedPairs:
    """Decide which events get a new message and which dead ones are revived. What still waits for
    the endpoint is left alone."""
    every = step.job.spec.what is ReplayWhat.all
    made, dead = [], []
    for pair, state in zip(step.pairs, states, strict=True):
        if state.waiting:
            continue
        if state.dead and every:
            dead.append(state.dead)
        elif every or not (state.dead or state.had):
            made.append(pair)
    drafts = [_draft(step, pair) for pair in made]
    return SortedPairs(drafts, made, tuple(dead), sum(state.waiting for state in states))


def _draft(step: ReplaySlice, pair: ReplayPair) -> Draft:
    to, now_ms = pair.target, step.now_ms
    headers = reference(pair.event, {HEADER: replay_id(step.job.id)})
    where = (pair.number, to.queue, to.lane, to.order_group)
    return Draft(*where, 0, now_ms, now_ms, NEVER, b"", headers)


def pair_of(event: EventRow, target: EventTarget, number: int, *, since: int) -> ReplayPair:
    """Pair an event with an endpoint; one that was matched before the endpoint was made (`since`)
    cannot have had a message for it. Its messages have their ids since then."""
    span = (0, 0) if event.last < since else (event.first, event.last)
    return ReplayPair(event.id, *span, target, number)


def next_at_ms(step: ReplaySlice, count: int) -> int:
    """Return when the slice after this one is due, so that the rate is kept."""
    return step.now_ms + count * spacing_us(step.job.spec.rate) // 1000


def slice_count(rate: str) -> int:
    """Return how many messages a slice may have: those of a second."""
    return max(1, min(SLICE_MAX, 1_000_000 // max(1, spacing_us(rate))))


def spacing_us(rate: str) -> int:
    """Read a rate of one window, as `50/s`; BadInput if it is none."""
    limit = read_limit(rate)
    if len(limit.windows) != 1:
        raise BadInput(f"rate={rate!r}: give one rate, as 50/s")
    (window,) = limit.windows
    return window.length_us // window.most


def replay_id(number: int) -> str:
    """Return a replay's id as users see it."""
    return PREFIX + to_digits(number)


def replay_number(text: str) -> int:
    """Return a replay's id as the store keeps it."""
    number = read_id(text, PREFIX)
    if not number:
        raise UnknownReplay(f"{text[:40]!r} is no replay's id; they look like {PREFIX}0123…")
    return number
