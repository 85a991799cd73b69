"""Limits of tenants: whether a tenant may have more queues, messages, mailboxes and so on."""

import asyncio
from collections.abc import Collection, Iterable
from typing import Final

from postroad.model.errors import StoreError, TenantFull
from postroad.model.tenant import limits_for
from postroad.model.tenant_limits import TenantLimits
from postroad.observe.gathering import FirstTimes
from postroad.observe.tasks import Tasks
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.usage import CountedKind

FRESH_S: Final = 10.0
"""How long a count of queues or lanes is used; what is made here meanwhile is added."""
SLICE: Final = 1_000
SENDERS_MAX: Final = 1_000
SLICE_EVERY_S: Final = 0.1
"""During sends, stored messages are counted in slices, ten a second. One takes SQLite's only reader
half a ms; for slices of ten thousand other tenants' messages waited 4 to 30."""
WALK_EVERY_S: Final = 1.0
"""Between two walks: few messages are counted every second, ten million in a quarter of an hour."""
SETTINGS: Final = ("messages_max", "messages_bytes_max")
"""Limits that are settings; of the others a tenant has its own alone."""


class Allowance:
    """What one process knows of how much tenants have. Queues and lanes that other processes make,
    and limits that they set, are seen after FRESH_S at most, stored messages after one count of all
    messages."""

    def __init__(self, store: Store, limits: TenantLimits, body_bytes_max: int, log: Log) -> None:
        self.body_bytes_max = body_bytes_max
        """Maximum size of one message's body."""
        self._store = store
        self._limits = limits
        self._known: dict[tuple[CountedKind, str], tuple[float, int, int]] = {}
        """When it was counted, how many there are, and how many there may be."""
        self._full: dict[str, str] = {}
        """Tenants that have stored as much as they may, each with its error text."""
        self.tasks = Tasks(log)
        self._walk: asyncio.Task[None] | None = None
        self._used = False
        self._senders: set[str] = set()
        """Who sent since the last count: one that has nothing stored may have a limit of 0."""
        self._log = log
        self._reached = FirstTimes(store.clock)

    def _tell(self, tenant: str, setting: str) -> None:
        if self._reached.is_first((tenant, setting)):
            self._log.warning("a tenant has as much as it may", tenant=tenant, limit=setting)

    async def one_more(self, kept: CountedKind, tenant: str) -> None:
        """Raise TenantFull if a tenant has as many as it may. They are counted each time."""
        count, most = await self._read(kept, tenant)
        if count >= most:
            raise self.refusal(kept, tenant)

    async def limits_of(self, tenant: str) -> TenantLimits:
        """Read the limits of a tenant: its own, else the settings'."""
        own = await self._store.tenants_own([tenant])
        return limits_for(own.get(tenant, {}), self._limits)

    async def _read(self, kept: CountedKind, tenant: str) -> tuple[int, int]:
        """Count what a tenant has, and read how many it may have."""
        most: int = getattr(await self.limits_of(tenant), f"{kept}_max")
        count = await self._store.tenant_has(kept, tenant, most)
        self._known[kept, tenant] = self._store.clock.steady_s(), count, most
        return count, most

    async def has_room(self, kept: CountedKind, tenant: str, more: int) -> bool:
        """Whether a tenant may have `more`, which then count as made. The count is cached for
        FRESH_S; before a refusal it is read again."""
        now_s = self._store.clock.steady_s()
        at_s, count, most = self._known.get((kept, tenant), (now_s - FRESH_S, 0, 0))
        if now_s - at_s >= FRESH_S or count + more > most:
            at_s = now_s
            count, most = await self._read(kept, tenant)
        self._known[kept, tenant] = at_s, count + more, most
        return count < most

    def refusal(self, kept: CountedKind, tenant: str) -> TenantFull:
        """The error for a tenant that may have no more of these."""
        most = self._known[kept, tenant][2]
        self._tell(tenant, f"{kept}_max")
        return TenantFull(_told(tenant, most, kept, f"{kept}_max"))

    def sends(self, tenants: Collection[str]) -> None:
        """Raise TenantFull if one of these tenants has stored as much as it may."""
        self._used = True
        self._senders.update(tenants)
        if self._walk is None:
            self._walk = self.tasks.start(self._count(), "count of stored messages")
            self._walk.add_done_callback(self._walked)
        if self._full:
            for tenant in tenants:
                if tenant in self._full:
                    self._tell(tenant, "messages_max")
                    raise TenantFull(self._full[tenant])

    def stop(self) -> None:
        """Stop counting."""
        if self._walk is not None:
            self._walk.cancel()
            self._walk = None

    async def _count(self) -> None:
        """Count slice after slice during sends, and to the end of a walk."""
        counts: dict[str, tuple[int, int]] = {}
        own: dict[str, dict[str, int]] = {}
        after = 0
        while self._used or after:
            await self._store.clock.sleep(SLICE_EVERY_S if after else WALK_EVERY_S)
            self._used = False
            try:
                part = await self._store.stored(after, SLICE)
            except StoreError:
                continue  # senders get the error themselves
            for tenant, count, size in part.found:
                old = counts.get(tenant, (0, 0))
                counts[tenant] = old[0] + count, old[1] + size
                self._senders.discard(tenant)
            own |= part.own
            after = part.last
            if not after:
                own |= await self._own_of_senders(counts)
                self._full = dict(self._over(counts, own))
                counts, own = {}, {}

    async def _own_of_senders(
        self, counts: dict[str, tuple[int, int]]
    ) -> dict[str, dict[str, int]]:
        """Count those who sent and have nothing stored, and read their limits."""
        names = list(self._senders)[:SENDERS_MAX]
        self._senders.clear()
        for name in names:
            _ = counts.setdefault(name, (0, 0))  # what was counted stays
        try:
            return await self._store.tenants_own(names) if names else {}
        except StoreError:
            return {}  # senders get the error themselves

    def _walked(self, walk: "asyncio.Task[None]") -> None:
        """The walk has ended, for whatever reason: the next send starts a new one."""
        if self._walk is walk:
            self._walk = None

    def _over(
        self, counts: dict[str, tuple[int, int]], own: dict[str, dict[str, int]]
    ) -> Iterable[tuple[str, str]]:
        for tenant, (count, size) in counts.items():
            limits = limits_for(own.get(tenant, {}), self._limits)
            if count >= limits.messages_max:
                yield tenant, _told(tenant, count, "messages stored", "messages_max")
            elif size >= limits.messages_bytes_max:
                yield tenant, _told(tenant, size, "bytes of messages stored", "messages_bytes_max")


def _told(tenant: str, count: int, what: str, setting: str) -> str:
    return (
        f"tenant {tenant!r} has {count:,} {what}, as much as it may have; nothing of this was "
        f"stored: {raise_limit(tenant, setting)}, or finish and delete what is not needed"
    )


def raise_limit(tenant: str, limit: str) -> str:
    """Say how a limit of a tenant is raised."""
    option = limit.replace("_", "-")
    own = f"`postroad tenant limits {tenant} --{option} NUMBER` raises its limit `{limit}`"
    return own + (f", and the setting `tenants.{limit}` that of all" if limit in SETTINGS else "")
