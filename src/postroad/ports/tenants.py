"""Tenants in the store: those that somebody created, and those that were made by their use."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from postroad.model.tenant import TenantRow


class Tenants(Protocol):
    """Keeps what is set for tenants, and finds those that have something."""

    async def tenant_add(self, row: TenantRow) -> bool:
        """Store a tenant; False if one of that name was created before."""

    async def tenant_limit(self, name: str, limits: Mapping[str, int | None], now_ms: int) -> None:
        """Set limits of a tenant's own, and (None) take some away; the others stay."""

    async def tenant_find(self, name: str) -> TenantRow | None:
        """Return the tenant of that name; None if it was not created and has nothing."""

    async def tenant_page(self, after: str, limit: int) -> list[TenantRow]:
        """List tenants by name, from after a name on."""

    async def tenants_own(self, names: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the limits of those among some tenants that have their own."""
