"""Named limits: one limit that many lanes share, such as all lanes of a provider."""

from typing import Final, TypedDict, Unpack

from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, TenantFull, UnknownLimit
from postroad.model.named_limits import LIMITS_MAX, NamedLimit, NewLimit
from postroad.model.pace import make_limit
from postroad.ports.log import Log
from postroad.ports.pace import Slots
from postroad.verbs.bounding import bounded
from postroad.verbs.tokens import check_tenant

OWN: Final = "rule "
"""What the names of limits begin with that an answer rule has set."""


class LimitOptions(TypedDict, total=False):
    """What a limit may say besides its rate."""

    cost: int
    """What each try counts as."""
    hours: str
    """When tries may start, as 09:00-20:00."""
    zone: str
    """Where these hours are meant, unless a message names its own zone; UTC if left out."""


class QueueLimitOptions(LimitOptions, total=False):
    """What the limit of a queue or a lane may say, and whose it is."""

    tenant: str


@bounded
class NamedLimits:
    """Set, list and lift limits that many lanes share: all lanes that a pattern such as
    `smtp:*.google.com` means, in the whole fleet."""

    def __init__(self, store: Slots, log: Log) -> None:
        self._store = store
        self._log = log

    async def put(
        self,
        name: str,
        *,
        lanes: str,
        rate: str = "",
        tenant: str = DEFAULT_TENANT,
        **options: Unpack[LimitOptions],
    ) -> NamedLimit:
        """Set a limit; it replaces one of the same name. `lanes` is a pattern of TRANSPORT:SERVER
        with `*` and `?`. The tenant `*` means the lanes of every tenant."""
        check_tenant(tenant)
        if not name.isprintable() or name.startswith(OWN):
            raise BadInput(f"name {name!r}: give another one")
        limit = make_limit(rate, **options)
        if limit is None:
            raise BadInput("a limit has a rate, as 100/s, or hours, as 09:00-20:00: give one")
        known = {each.name for each in await self._store.named_limits(tenant)}
        if len(known | {name}) > LIMITS_MAX:
            raise TenantFull(f"a tenant has at most {LIMITS_MAX} named limits: delete some")
        await self._store.put_limit(NewLimit(name, tenant, lanes, limit))
        self._log.info("limit set", limit=name, lanes=lanes, rate=rate, tenant=tenant)
        return next(one for one in await self._store.named_limits(tenant) if one.name == name)

    async def list(self, *, tenant: str | None = DEFAULT_TENANT) -> list[NamedLimit]:
        """List the named limits of a tenant, of `*`, or (None) all; also those that answer rules
        have set for a while."""
        return await self._store.named_limits(tenant)

    async def delete(self, name: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Lift a named limit."""
        if not await self._store.drop_limit(tenant, name):
            raise UnknownLimit(
                f"there is no limit {name!r} of tenant {tenant!r}: see `postroad limits`"
            )
        self._log.info("limit lifted", limit=name, tenant=tenant)
