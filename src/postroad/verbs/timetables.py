"""Timetables as a program uses them: made, changed, paused, run now and deleted at run time."""

from collections.abc import Callable
from itertools import islice
from typing import Final, TypedDict, Unpack

import msgspec
from msgspec.structs import replace

from postroad.engine.drafting import Send
from postroad.model.bodies import encode_body
from postroad.model.durations import Duration
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import (
    BadInput,
    BodyTooLarge,
    Conflict,
    PostroadError,
    QueueGone,
    StoreError,
)
from postroad.model.redaction import Redaction
from postroad.model.states import NEVER
from postroad.model.ticks import (
    BODY_BYTES_MAX,
    DeclaredInCode,
    Missed,
    Schedule,
    Timetabled,
    TimetableOrigin,
    UnknownTimetable,
)
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.usage import CountedKind
from postroad.verbs.bounding import bounded
from postroad.verbs.cron import check_every, check_missed, check_plan, ticks_after, told_when
from postroad.verbs.paging import check_page
from postroad.verbs.scheduler import TickDecider, TickDrafts, planned, tick_body
from postroad.verbs.sending import Sending
from postroad.verbs.timetable_facts import (
    Timetable,
    TimetablePage,
    TimetableRun,
    timetable_facts,
)

ONE_OF_THEM: Final = (
    "give a cron line, as '0 9 * * *', or an interval, as 3600 seconds: one of them"
)
SHOWN: Final = 5
"""Next times that are shown of one timetable."""
RACES_MAX: Final = 20
"""How often a change is begun again because others changed the timetable meanwhile."""
LEFT_MS: Final = 3_600_000
"""A timetable of code that is overdue by more is declared by no program that runs."""
Turn = Callable[[Timetabled, int], Timetabled]
"""What a change makes of a timetable, at a time."""


class TimetableTimes(TypedDict, total=False):
    """When a timetable comes."""

    cron: str
    """A cron line of five fields, or six with seconds first; or"""
    every: Duration
    """so often: seconds or a timedelta."""
    zone: str
    """The time zone of the cron line, as `Europe/Berlin`; UTC unless given."""
    missed: str
    """What becomes of times at which no process ran: `latest`, `all` or `skip`."""


class TimetableChange(TimetableTimes, total=False):
    """What is to be different."""

    queue: str
    body: object


@bounded
class TimetableVerbs:
    """Make, change, pause, resume, run and delete timetables while the road runs. Those that
    programs declare are listed too, and can be paused and run."""

    def __init__(
        self, store: Store, sending: Sending, log: Log, redaction: Redaction | None = None
    ) -> None:
        self._store = store
        self._sending = sending
        self._log = log
        self._redaction = redaction or Redaction()
        self._decider = TickDecider(store, TickDrafts(sending), log)

    async def create(
        self,
        name: str,
        queue: str,
        body: object,
        *,
        paused: bool = False,
        tenant: str = DEFAULT_TENANT,
        **times: Unpack[TimetableTimes],
    ) -> Timetable:
        """Make a timetable: from now on the body is sent to the queue at the times of `cron`, in
        its `zone`, or `every` so often, each time once in the whole fleet."""
        if ("cron" in times) == ("every" in times):
            raise BadInput(ONE_OF_THEM)
        now_ms = self._store.clock.now_ms()
        empty = Timetabled(Schedule(name, "", "UTC", now_ms, tenant), queue, Missed.latest)
        asked = TimetableChange(body=body, queue=queue, **times)
        row = _changed(empty, asked, now_ms)
        row = replace(row, origin=TimetableOrigin.made, plan=replace(row.plan, paused=paused))
        await self._check_send(row)
        await self._sending.allowance.one_more(CountedKind.timetables, tenant)
        row = self._turned(row, now_ms)
        if not await self._store.timetable_add(row):
            raise Conflict(f"tenant {tenant!r} has a timetable {name!r}: change or delete that one")
        self._log.info("timetable made", schedule=name, tenant=tenant, when=told_when(row.plan))
        return await self.show(name, tenant=tenant)

    async def list(
        self, *, limit: int = 100, after: str = "", tenant: str = DEFAULT_TENANT
    ) -> TimetablePage:
        """A page of a tenant's timetables by name, with those that programs declare."""
        check_page(limit)
        rows = await self._store.timetable_page(tenant, "", after, limit + 1)
        now_ms = self._store.clock.now_ms()
        shown = tuple(timetable_facts(row, now_ms) for row in rows[:limit])
        return TimetablePage(shown, shown[-1].name if len(rows) > limit else "")

    async def show(self, name: str, *, tenant: str = DEFAULT_TENANT) -> Timetable:
        """A timetable, with its next times and what it sends."""
        row, now_ms = await self._find(name, tenant), self._store.clock.now_ms()
        facts = replace(timetable_facts(row, now_ms), body=self._shown(row))
        if row.plan.paused:
            return facts
        try:
            return replace(facts, next_ms=tuple(islice(ticks_after(row.plan, now_ms), SHOWN)))
        except BadInput as unknown:  # its zone, on this machine
            return replace(facts, error=facts.error or str(unknown))

    async def change(
        self, name: str, *, tenant: str = DEFAULT_TENANT, **changed: Unpack[TimetableChange]
    ) -> Timetable:
        """Change when a timetable comes, where it sends or what; the rest stays. Times of the old
        plan that are due already are decided by it."""
        if not changed:
            raise BadInput("say what is to be different: cron, every, zone, missed, queue or body")
        if {"cron", "every"} <= changed.keys():
            raise BadInput(ONE_OF_THEM)

        def turn(row: Timetabled, now_ms: int) -> Timetabled:
            return _changed(row, changed, now_ms)

        return await self._turn(name, tenant, turn, told="changed")

    async def pause(self, name: str, *, tenant: str = DEFAULT_TENANT) -> Timetable:
        """Let a timetable send nothing until it is resumed. Times that come meanwhile are not made
        up for."""
        return await self._turn(name, tenant, _paused, told="paused", of_code=True)

    async def resume(self, name: str, *, tenant: str = DEFAULT_TENANT) -> Timetable:
        """Let a paused timetable go on, from now."""
        return await self._turn(name, tenant, _resumed, told="resumed", of_code=True)

    async def run_now(self, name: str, *, tenant: str = DEFAULT_TENANT) -> TimetableRun:
        """Send what a timetable sends, now and once, also while it is paused. Its times stay."""
        row = await self._find(name, tenant)
        is_code = row.origin is TimetableOrigin.code
        now_ms = self._store.clock.now_ms()
        body: object = tick_body(row.plan, now_ms) if is_code else row.content
        sent = await self._sending.send(Send(row.queue, body, tenant=tenant))
        self._log.info("timetable run by hand", schedule=name, tenant=tenant, message=sent.id)
        return TimetableRun(sent.id, sent.queue)

    async def delete(self, name: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Delete a timetable. What it has sent stays; nothing more is sent, once this answers."""
        for _ in range(RACES_MAX):
            row = await self._find(name, tenant)
            if row.origin is TimetableOrigin.code and not self._is_left(row):
                raise _declared(name)
            if await self._store.timetable_drop(tenant, name, row.plan.version):
                self._log.info("timetable deleted", schedule=name, tenant=tenant)
                return
        raise _raced(name)

    # The rest

    async def _find(self, name: str, tenant: str) -> Timetabled:
        found = await self._store.timetable_page(tenant, name, "", 1)
        if not found:
            raise UnknownTimetable(
                f"tenant {tenant!r} has no timetable {name!r}: see `postroad timetable list`"
            )
        return found[0]

    def _shown(self, row: Timetabled) -> object:
        """Return its body without redacted fields, or None if a program makes it at each tick."""
        if row.origin is TimetableOrigin.code:
            return None
        body = self._redaction.body(row.queue, row.body)
        return body if row.is_bytes else msgspec.json.decode(body)

    async def _turn(
        self, name: str, tenant: str, turn: Turn, *, told: str, of_code: bool = False
    ) -> Timetable:
        """Change a timetable as it is at that moment: of two who change it at once, the second one
        changes what the first one has left."""
        for _ in range(RACES_MAX):
            old, now_ms = await self._find(name, tenant), self._store.clock.now_ms()
            if old.origin is TimetableOrigin.code and not of_code:
                raise _declared(name)
            new = turn(old, now_ms)
            if new == old:
                return await self.show(name, tenant=tenant)
            if _sends_differently(old, new):
                await self._check_send(new)
            if _comes_differently(old, new) and not await self._settled(old, now_ms):
                continue
            if await self._store.timetable_put(self._turned(new, now_ms), old.plan.version):
                self._log.info(f"timetable {told}", schedule=name, tenant=tenant)
                return await self.show(name, tenant=tenant)
        raise _raced(name)

    async def _settled(self, old: Timetabled, now_ms: int) -> bool:
        """Decide the ticks of the old plan that are due. False: it was changed meanwhile, or its
        queue was deleted and will be made again."""
        entry, sends = planned(old), True
        entry.next_ms = NEVER if old.plan.paused else 0
        while entry.next_ms <= now_ms:
            try:
                if not await self._decider.decide(entry, old.plan, now_ms, sends=sends):
                    return False
            except QueueGone:
                return False
            except StoreError:
                raise  # nothing is changed: the caller can ask again
            except PostroadError as error:  # that may be why it is changed
                self._log.warning("ticks of the old plan are skipped", error=str(error))
                if not sends:
                    return True  # its zone is not known here, so neither are its times
                sends = False
        return True

    async def _check_send(self, row: Timetabled) -> None:
        """Raise if such a message could not be sent now."""
        send = Send(row.queue, row.content, tenant=row.plan.tenant)
        _, drafted = await self._sending.draft_or_why(send)
        if isinstance(drafted, PostroadError):
            raise drafted

    def _turned(self, row: Timetabled, now_ms: int) -> Timetabled:
        """The timetable with its new version, and when to look at it."""
        plan = replace(row.plan, version=self._sending.ids.next(now_ms))
        waits = plan.paused or row.origin is TimetableOrigin.code
        look_ms = NEVER if waits else next(ticks_after(plan, plan.decided_ms), NEVER)
        return replace(row, plan=plan, look_ms=look_ms, changed_ms=now_ms, error="")

    def _is_left(self, row: Timetabled) -> bool:
        """Whether a timetable of code is overdue, so that no program decides its ticks."""
        due_ms = next(ticks_after(row.plan, row.plan.decided_ms), NEVER)
        return not row.plan.paused and due_ms + LEFT_MS < self._store.clock.now_ms()


def _changed(row: Timetabled, changed: TimetableChange, now_ms: int) -> Timetabled:
    """The timetable with what is given. With other times it counts from now."""
    plan = row.plan
    if "cron" in changed:
        plan = replace(plan, cron=changed["cron"], every_ms=0, start_ms=0)
        check_plan(plan.cron, plan.tz)
    elif "every" in changed and (every_ms := check_every(changed["every"])) != plan.every_ms:
        plan = replace(plan, cron="", every_ms=every_ms, start_ms=now_ms)
    if "zone" in changed:
        plan = _zoned(plan, changed["zone"])
    if _times(plan) != _times(row.plan):
        plan = replace(plan, decided_ms=max(plan.decided_ms, now_ms))
    missed = check_missed(changed.get("missed", row.missed))
    row = replace(row, plan=plan, missed=missed, queue=changed.get("queue", row.queue))
    if "body" not in changed:
        return row
    body = changed["body"]
    return replace(row, body=timetable_body(body), is_bytes=isinstance(body, bytes))


def _zoned(plan: Schedule, zone: str) -> Schedule:
    """The plan in another zone. The one that it has may be given again."""
    if zone != plan.tz and not plan.cron:
        often = told_when(plan)
        raise BadInput(
            f"zone={zone!r} is for a cron line, and {plan.name!r} comes {often}: leave it out"
        )
    check_plan(plan.cron or "* * * * *", zone)
    return replace(plan, tz=zone)


def _times(plan: Schedule) -> tuple[str, int, str]:
    return plan.cron, plan.every_ms, plan.tz


def _comes_differently(old: Timetabled, new: Timetabled) -> bool:
    return _times(old.plan) != _times(new.plan)


def _sends_differently(old: Timetabled, new: Timetabled) -> bool:
    return (old.queue, old.content) != (new.queue, new.content)


def _paused(row: Timetabled, _now_ms: int) -> Timetabled:
    return replace(row, plan=replace(row.plan, paused=True))


def _resumed(row: Timetabled, now_ms: int) -> Timetabled:
    """Resume from now; ticks missed meanwhile are skipped."""
    if not row.plan.paused:
        return row
    decided_ms = max(row.plan.decided_ms, now_ms)
    return replace(row, plan=replace(row.plan, paused=False, decided_ms=decided_ms))


def timetable_body(body: object) -> bytes:
    """Write what a timetable sends: bytes as they are, all else as JSON."""
    written = body if isinstance(body, bytes) else encode_body(body)
    if len(written) > BODY_BYTES_MAX:
        raise BodyTooLarge(f"the body has {len(written)} bytes: a timetable's {BODY_BYTES_MAX}")
    return written


def _declared(name: str) -> DeclaredInCode:
    return DeclaredInCode(
        f"the timetable {name!r} is declared by a program (road.every): change it there. It can be "
        "paused, resumed and run now"
    )


def _raced(name: str) -> Conflict:
    return Conflict(f"the timetable {name!r} is being changed by others: try again")
