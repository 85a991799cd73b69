"""How much tenants have."""

from postroad.ports.usage import CountedKind, Slice
from postroad.stores.postgres.base import PostgresBase
from postroad.stores.tenants import OWN


class PostgresUsage(PostgresBase):
    """Counts what tenants have, for their limits."""

    async def tenant_has(self, kept: CountedKind, tenant: str, most: int) -> int:
        """How many of a kind a tenant has, up to a number."""
        return int(await self._one(self._read, "usage", f"has_{kept}", tenant, most))

    async def stored(self, after: int, limit: int) -> Slice:
        """The next messages by tenant, in order of id."""
        self._check_open()
        found = await self._read.rows("usage", "stored", (after, limit))
        rows = [(row["tenant"], row["n"], row["bytes"]) for row in found]
        seen, last = sum(row[1] for row in rows), max((row["last"] for row in found), default=0)
        own = {row["tenant"]: OWN.decode(row["own"]) for row in found if row["own"]}
        return Slice(rows, last if seen >= limit else 0, own)
