"""Credentials, campaigns and their recipients: what both databases do alike."""

from abc import ABC, abstractmethod

from postroad.model.campaign import Campaign, Counts, Recipient, Row, RowState, Spec
from postroad.model.credential import Credential
from postroad.ports.campaigns import Import
from postroad.stores.campaign_rows import (
    read_campaign,
    read_credential,
    read_exact,
    read_import,
    read_recipient,
    text,
)
from postroad.stores.statements import Statements


class CredentialTable(ABC):
    """Where credentials are kept."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    @abstractmethod
    def _now(self) -> tuple[int, ...]:
        """The time, as the last value of a statement; empty where the database has a clock."""

    async def put_credential(self, credential: Credential) -> None:
        """Store it, or replace the one of the same name."""
        one = credential
        values = (one.tenant, one.name, one.kind, text(one.spec), one.key, one.sealed)
        await self._sql.execute("campaigns", "credential_put", *values, *self._now())

    async def credential(self, tenant: str, name: str) -> Credential | None:
        """The credential of that name."""
        row = await self._sql.first("campaigns", "credential_find", tenant, name)
        return read_credential(row) if row else None

    async def credential_of(self, campaign: int) -> Credential | None:
        """The credential that a campaign sends with."""
        row = await self._sql.first("campaigns", "credential_of_campaign", campaign)
        return read_credential(row) if row else None

    async def credentials(self, tenant: str) -> list[Credential]:
        """All credentials of a tenant, by name."""
        rows = await self._sql.select("campaigns", "credentials_of_tenant", tenant)
        return [read_credential(row) for row in rows]

    async def delete_credential(self, tenant: str, name: str) -> bool:
        """Delete it, unless a campaign needs it."""
        return await self._sql.changes("campaigns", "credential_delete", tenant, name)

    async def not_under(self, key: str, after: int, limit: int) -> list[Credential]:
        """Credentials that are not sealed with this key."""
        rows = await self._sql.select("campaigns", "credentials_not_under", key, after, limit)
        return [read_credential(row) for row in rows]

    async def reseal(self, credential: Credential, key: str, sealed: bytes) -> bool:
        """Seal it with another key, unless it has changed meanwhile."""
        values = (credential.id, key, sealed, credential.sealed)
        return await self._sql.changes("campaigns", "credential_reseal", *values)

    async def refused(self, tenant: str, kind: str, name: str, after: int, limit: int) -> list[int]:
        """The next queues of a credential that are disabled."""
        values = (tenant, kind, name, after, limit)
        return [row[0] for row in await self._sql.select("campaigns", "queues_refused", *values)]

    async def block_credential(self, id: int, until_ms: int, reason: str, streak: int) -> None:  # noqa: A002
        """Block it until a time."""
        await self._sql.execute("campaigns", "credential_block", id, until_ms, reason, streak)


class CampaignTables(CredentialTable):
    """Where campaigns and their recipients are kept."""

    async def create(self, tenant: str, name: str, credential: int, spec: Spec) -> bool:
        """Insert a draft, unless the name is taken."""
        values = (tenant, name, credential, text(spec))
        return await self._sql.changes("campaigns", "campaign_create", *values, *self._now())

    async def campaign(self, tenant: str, name: str) -> Campaign | None:
        """The campaign of that name."""
        row = await self._sql.first("campaigns", "campaign_find", tenant, name)
        return read_campaign(row) if row else None

    async def campaign_by_id(self, id: int) -> Campaign | None:  # noqa: A002
        """The campaign of that number."""
        row = await self._sql.first("campaigns", "campaign_by_id", id)
        return read_campaign(row) if row else None

    async def campaigns(self, tenant: str, after: int, limit: int) -> list[Campaign]:
        """A tenant's campaigns in the order in which they were made."""
        rows = await self._sql.select("campaigns", "campaigns_of_tenant", tenant, after, limit)
        return [read_campaign(row) for row in rows]

    async def note(self, campaign: int, reason: str) -> None:
        """Say why a running campaign waits."""
        await self._sql.execute("campaigns", "campaign_note", campaign, reason)

    async def held_until(self, queue: int, lane: int) -> tuple[int, bool]:
        """Until when nothing of a queue may start on its lane, and whether its circuit is open."""
        row = await self._sql.first("campaigns", "campaign_held", queue, lane, *self._now())
        return (int(row[0] or 0), bool(row[1])) if row else (0, False)

    async def override(self, campaign: int) -> None:
        """Let it no longer halt by itself."""
        await self._sql.execute("campaigns", "campaign_override", campaign)

    async def exact(self, campaign: int) -> Counts:
        """Count its recipients one by one."""
        return read_exact(await self._sql.select("campaigns", "campaign_exact", campaign))

    async def page(
        self, campaign: int, state: RowState | None, after: int, limit: int
    ) -> list[Recipient]:
        """A page of recipients and their results, in order."""
        return [one for one, _ in await self.page_with_cells(campaign, state, after, limit)]

    async def page_with_cells(
        self, campaign: int, state: RowState | None, after: int, limit: int
    ) -> list[tuple[Recipient, str]]:
        """The same page, each recipient with its cells."""
        rows = await self._sql.select("campaigns", "recipient_page", campaign, state, after, limit)
        return [read_recipient(row) for row in rows]

    async def rows(
        self, campaign: int, after: int, limit: int, *, unsent: bool = False
    ) -> list[Row]:
        """A page of recipients with their cells, in order."""
        rows = await self._sql.select("campaigns", "recipient_rows", campaign, after, limit, unsent)
        return [Row(*row) for row in rows]

    async def importing(self, campaign: int) -> Import | None:
        """The import that is under way."""
        row = await self._sql.first("campaigns", "import_find", campaign)
        return read_import(row) if row else None
