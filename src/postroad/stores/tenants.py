"""Tenants: what both databases do alike."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from postroad.model.tenant import TenantRow
from postroad.stores.statements import Row, Statements

OWN: Final = msgspec.json.Decoder(dict[str, int])
LABEL: Final = "tenants"


class TenantTable(Statements):
    """Stores what is set for tenants."""

    async def tenant_add(self, row: TenantRow) -> bool:
        """Store a tenant; False if one of that name was created before."""
        own = msgspec.json.encode(row.own).decode()
        values = (row.name, row.description, own, row.made_at_ms)
        return await self.changes(LABEL, "tenant_insert", *values)

    async def tenant_limit(self, name: str, limits: Mapping[str, int | None], now_ms: int) -> None:
        """Set limits of a tenant's own, and take some away, in one statement."""
        patch = msgspec.json.encode(limits).decode()
        await self.execute(LABEL, "tenant_limit", name, patch, now_ms)

    async def tenant_find(self, name: str) -> TenantRow | None:
        """The tenant of that name."""
        row = await self.first(LABEL, "tenant_find", name)
        return read_tenant(row) if row else None

    async def tenant_page(self, after: str, limit: int) -> list[TenantRow]:
        """Tenants by name."""
        rows = await self.select(LABEL, "tenant_page", after, limit)
        return [read_tenant(row) for row in rows]

    async def tenants_own(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """The limits of those among some tenants that have their own."""
        listed = msgspec.json.encode(names).decode()
        rows = await self.select(LABEL, "tenants_own", listed)
        return {name: OWN.decode(own) for name, own in rows}


def read_tenant(row: Row) -> TenantRow:
    """A tenant from its row; one that was made by its use has only a name."""
    name, description, own, made_at = row
    return TenantRow(name, description or "", made_at, OWN.decode(own) if own else {})
