"""How much tenants have."""

from postroad.ports.usage import CountedKind, Slice
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.tenants import OWN


class SqliteUsage(SqliteBase):
    """Counts what limits of tenants are checked against."""

    async def tenant_has(self, kept: CountedKind, tenant: str, most: int) -> int:
        """Count what a tenant has, up to a number."""
        return await self.read("usage", lambda db: db.number(f"has_{kept}", tenant, most) or 0)

    async def stored(self, after: int, limit: int) -> Slice:
        """Count the next messages by tenant, in order of id."""
        rows = await self.read("usage", lambda db: db.all("stored", after, limit))
        seen, last = sum(row[1] for row in rows), max((row[3] for row in rows), default=0)
        own = {row[0]: OWN.decode(row[4]) for row in rows if row[4]}
        return Slice([row[:3] for row in rows], last if seen >= limit else 0, own)
