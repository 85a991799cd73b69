"""The dead set: list, show, replay and purge messages that will not be tried again."""

from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from functools import partial
from typing import Final, Protocol, TypedDict, Unpack

import msgspec
from msgspec.structs import replace

from postroad.model.cursors import cursor, place_in
from postroad.model.dead import (
    TOP,
    DeadFilter,
    DeadLetter,
    DeadMessage,
    Page,
    ReplayMode,
    place,
    place_after,
)
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, UnknownMessage
from postroad.model.ids import to_number
from postroad.model.private_headers import shown
from postroad.model.recipients import may_name
from postroad.model.redaction import Redaction
from postroad.model.states import NEVER, DeadReason
from postroad.ports.bodies import StoredBody
from postroad.ports.store import Store
from postroad.verbs.bounding import bounded
from postroad.verbs.event_bodies import shown_body
from postroad.verbs.known_queues import check_queue
from postroad.verbs.paging import check_page, span_ms

PAGE_MAX: Final = 1_000
SLICE: Final = 500
"""Messages that one transaction changes; other writers go between two of them."""
IDS_MAX: Final = 10_000
"""Maximum of named messages: they are changed together or not at all."""


class DeadWhere(TypedDict, total=False):
    """Which dead messages: those to which all given options apply."""

    tenant: str | None
    """The owner of the queues; None is every tenant."""
    queue: str | None
    reason: str | None
    error: str | None
    """Contained in the error, in upper or lower case."""
    since: datetime | None
    """Died at this time or later."""
    until: datetime | None
    """Died before this time."""


class Change(Protocol):
    """A replay or a purge."""

    async def __call__(self, which: DeadFilter, *, count: int, dry_run: bool) -> int:
        """Change up to `count` messages, the longest dead first; returns how many."""


@bounded
class DeadMessages:
    """List, show, replay and purge the messages that will not be tried again."""

    def __init__(self, store: Store, redaction: Redaction | None = None) -> None:
        self._store = store
        self._redaction = redaction or Redaction()

    async def list(self, *, limit: int = 100, after: str = "", **where: Unpack[DeadWhere]) -> Page:
        """A page of dead messages, the latest death first. Give its `after` for the next page."""
        check_page(limit, PAGE_MAX)
        which = _filter(where)
        query = ("dead", which)
        start = place(place_in(after, query), after) if after else TOP
        await self._check_queue(which)
        found = await self._store.dead_page(which, start, limit + 1)
        shown = await self._named(found[:limit])
        return Page(shown, cursor(place_after(shown[-1]), query) if len(found) > limit else "")

    async def _named(self, found: Iterable[DeadMessage]) -> tuple[DeadMessage, ...]:
        """Dead messages with the recipients that they name."""
        messages = tuple(found)
        ids = {one.id: to_number(one.id) for one in messages if may_name(one.queue)}
        named = await self._store.recipients_of(list(ids.values())) if ids else {}
        return tuple(
            replace(one, recipient=named[ids[one.id]]) if ids.get(one.id) in named else one
            for one in messages
        )

    async def show(self, id: str, *, tenant: str | None = DEFAULT_TENANT) -> DeadLetter:  # noqa: A002
        """A dead message with its body, headers and all tries; of secret headers only the
        names, and without the fields that are redacted."""
        letter = await self._store.dead_letter(tenant, to_number(id))
        if letter is None:
            raise UnknownMessage(f"{id} is not in the dead set: see `postroad message show {id}`")
        packed, about = msgspec.json.encode(letter.headers), letter.message
        place = (about.tenant, about.queue, about.priority, about.order_key)
        stored = StoredBody(to_number(id), *place, packed, letter.body)
        body = await shown_body(self._store, self._redaction, stored)
        return replace(letter, headers=shown(letter.headers), body=body)

    async def replay(
        self,
        *,
        ids: Iterable[str] | None = None,
        count: int | None = None,
        mode: str = ReplayMode.once,
        dry_run: bool = False,
        **where: Unpack[DeadWhere],
    ) -> int:
        """Send dead messages again: those with `ids` in one transaction, or those that match in
        slices. `mode` is `once` for one more try, `reset` for the whole ladder. Returns how many;
        `dry_run` only counts. Messages that die after the call are left out."""
        steps = self.replaying(ids=ids, count=count, mode=mode, dry_run=dry_run, **where)
        return [done async for done in steps][-1]

    def replaying(
        self,
        *,
        ids: Iterable[str] | None = None,
        count: int | None = None,
        mode: str = ReplayMode.once,
        dry_run: bool = False,
        **where: Unpack[DeadWhere],
    ) -> AsyncIterator[int]:
        """As `replay`, step by step: yields how many so far."""
        if mode not in set(ReplayMode):
            raise BadInput(f"mode={mode!r}: 'once' for one more try, 'reset' for a fresh ladder")
        how = partial(self._store.dead_replay, mode=ReplayMode(mode))
        return self._in_slices(how, *_meant(where, ids, count), dry_run=dry_run)

    async def purge(
        self,
        *,
        ids: Iterable[str] | None = None,
        count: int | None = None,
        dry_run: bool = False,
        **where: Unpack[DeadWhere],
    ) -> int:
        """Delete dead messages for good: those with `ids` in one transaction, or those that match
        in slices. Returns how many; `dry_run` only counts."""
        steps = self.purging(ids=ids, count=count, dry_run=dry_run, **where)
        return [done async for done in steps][-1]

    def purging(
        self,
        *,
        ids: Iterable[str] | None = None,
        count: int | None = None,
        dry_run: bool = False,
        **where: Unpack[DeadWhere],
    ) -> AsyncIterator[int]:
        """As `purge`, step by step: yields how many so far."""
        how = self._store.dead_purge
        return self._in_slices(how, *_meant(where, ids, count), dry_run=dry_run)

    async def _in_slices(
        self, how: Change, which: DeadFilter, most: int, *, dry_run: bool
    ) -> AsyncIterator[int]:
        """Change slice after slice. Messages that die after the start, perhaps again, are left."""
        await self._check_queue(which)
        if which.ids is not None or dry_run:
            yield await how(which, count=most, dry_run=dry_run)
            return
        before_ms = self._store.clock.now_ms() + 1
        which = replace(which, until_ms=min(which.until_ms, before_ms))
        done, full = 0, True
        while full and done < most:
            size = min(SLICE, most - done)
            gone = await how(which, count=size, dry_run=False)
            done, full = done + gone, gone == size
            yield done

    async def _check_queue(self, which: DeadFilter) -> None:
        if which.queue is not None and which.tenant is not None:
            await check_queue(self._store, which.queue, which.tenant)


def _meant(
    where: DeadWhere, ids: Iterable[str] | None, count: int | None
) -> tuple[DeadFilter, int]:
    """Which messages to change. An empty filter is refused, so that it cannot mean all."""
    narrowed = {name for name, value in where.items() if value is not None} - {"tenant"}
    if ids is not None:
        if narrowed or count is not None:
            raise BadInput(f"ids name the messages: leave out {', '.join(narrowed) or 'count'}")
        named = tuple(to_number(one) for one in ids)
        if len(named) > IDS_MAX:
            raise BadInput(f"{len(named)} ids: give up to {IDS_MAX} at once, or a filter")
        return _filter(where, named), NEVER
    if count is None and not narrowed:
        raise BadInput("say which: ids=[…], count=…, or queue=, reason=, error=, since=, until=")
    if count is not None and count < 1:
        raise BadInput(f"count={count}: give one or more")
    return _filter(where), NEVER if count is None else min(count, NEVER)


def _filter(where: DeadWhere, ids: tuple[int, ...] | None = None) -> DeadFilter:
    reason = where.get("reason")
    if reason is not None and reason not in set(DeadReason):
        raise BadInput(f"reason={reason!r}: one of {', '.join(DeadReason)}")
    since_ms, until_ms = span_ms(where.get("since"), where.get("until"))
    return DeadFilter(
        tenant=where.get("tenant", DEFAULT_TENANT),
        queue=where.get("queue"),
        reason=None if reason is None else DeadReason(reason),
        error=where.get("error"),
        since_ms=since_ms,
        until_ms=until_ms,
        ids=ids,
    )
