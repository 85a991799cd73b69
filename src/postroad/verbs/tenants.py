"""Tenants: create them, see what they have, set their limits, remove them."""

from typing import Final, Unpack, cast

from msgspec import structs

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, Conflict
from postroad.model.privacy import Erasure, Subject
from postroad.model.states import NEVER
from postroad.model.tenant import (
    LIMIT_NAMES,
    TenantCounts,
    TenantFacts,
    TenantInUse,
    TenantLimitOptions,
    TenantPage,
    TenantRow,
    TenantView,
    UnknownTenant,
    limits_for,
)
from postroad.model.tenant_limits import TenantLimits
from postroad.model.texts import ERROR_MAX, checked
from postroad.model.tokens import EVERY_TENANT
from postroad.ports.log import Log
from postroad.ports.store import Store
from postroad.ports.usage import CountedKind
from postroad.verbs.bounding import bounded
from postroad.verbs.erasures import ErasureWork
from postroad.verbs.paging import check_page
from postroad.verbs.tokens import check_tenant

COUNT_MAX: Final = 10_000
"""No further is counted: a look must not keep the store busy."""


@bounded
class TenantAdmin:
    """Create, list, show, limit and remove tenants. One that nobody created is made by its first
    use, with the limits of the settings."""

    def __init__(self, store: Store, work: ErasureWork, settings: TenantLimits, log: Log) -> None:
        self._store = store
        self._work = work
        self._settings = settings
        self._log = log

    async def create(
        self, name: str, *, description: str = "", **limits: Unpack[TenantLimitOptions]
    ) -> TenantFacts:
        """Create a tenant, with limits of its own where they are given. One that is used already
        gets a description and limits; Conflict if it was created before."""
        _check(name)
        own = {each: value for each, value in _checked(limits).items() if value is not None}
        text = checked("description", description, ERROR_MAX)
        row = TenantRow(name, text, self._store.clock.now_ms(), own)
        if not await self._store.tenant_add(row):
            raise Conflict(f"tenant {name!r} was created before: set its limits with `limits`")
        self._log.info("tenant created", tenant=name)
        return self._facts(row)

    async def list(self, *, limit: int = 100, after: str = "") -> TenantPage:
        """List tenants by name, also those that their first use made."""
        check_page(limit)
        rows = await self._store.tenant_page(after, limit)
        found = tuple(self._facts(row) for row in rows)
        return TenantPage(found, found[-1].name if len(found) == limit else "")

    async def show(self, name: str) -> TenantView:
        """Show a tenant's limits, and count what it has."""
        facts = self._facts(await self._find(name))
        return TenantView(**structs.asdict(facts), counts=await self._counts(name))

    async def limits(self, name: str, **limits: Unpack[TenantLimitOptions]) -> TenantFacts:
        """Set limits of a tenant's own; None takes one away, so that the settings' holds. They hold
        within ten seconds in all processes, and what a tenant has beyond them stays."""
        _check(name)
        if not limits:
            raise BadInput(f"say which limit: {', '.join(LIMIT_NAMES)}")
        _ = await self._find(name)  # whether there is one
        await self._store.tenant_limit(name, _checked(limits), self._store.clock.now_ms())
        self._log.info("limits of a tenant set", tenant=name, limits=" ".join(limits))
        return self._facts(await self._find(name))

    async def remove(self, name: str, *, force: bool = False) -> Erasure:
        """Remove a tenant with all that is stored of it, by an erasure whose progress
        `privacy.erasure` tells. While something waits it is refused as TenantInUse, unless `force`
        says that this is to be cancelled and deleted too."""
        _check(name)
        if name == DEFAULT_TENANT:
            raise BadInput("the tenant 'default' is the road's own: erase what it has instead")
        _ = await self._find(name)  # whether there is one
        asked_at_ms = self._store.clock.now_ms()
        if not force and (waits := (await self._counts(name)).in_use):
            raise TenantInUse(
                f"tenant {name!r} has {waits}, and nothing was removed: let it finish, or give "
                "force to delete this too"
            )
        # What is sent while this was counted is later than the erasure, and stays.
        return await self._work.begin(Subject(name), asked_at_ms)

    async def _find(self, name: str) -> TenantRow:
        row = await self._store.tenant_find(name)
        if row is None:
            raise UnknownTenant(f"there is no tenant {name!r}: see `postroad tenant list`")
        return row

    def _facts(self, row: TenantRow) -> TenantFacts:
        own = tuple(name for name in LIMIT_NAMES if name in row.own)
        limits = limits_for(row.own, self._settings)
        return TenantFacts(row.name, row.description, row.made_at_ms, limits, own)

    async def _counts(self, name: str) -> TenantCounts:
        counts = {
            kind.value: await self._store.tenant_has(
                kind, name, NEVER if kind is CountedKind.attachments_bytes else COUNT_MAX
            )
            for kind in CountedKind
        }
        return TenantCounts(**counts)


def _check(name: str) -> None:
    check_tenant(name)
    if name == EVERY_TENANT:
        raise BadInput("the tenant '*' is every tenant: name one")


def _checked(limits: TenantLimitOptions) -> dict[str, int | None]:
    """The limits, or BadInput if one cannot be."""
    given = cast(dict[str, int | None], limits)
    for name, value in given.items():
        if value is not None and (isinstance(value, bool) or not 0 <= value < NEVER):
            raise BadInput(f"{name}={value}: give a number from 0 on, or None for the settings'")
    return given
