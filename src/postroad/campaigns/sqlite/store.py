"""The campaign store on a SQLite file: each verb is one piece of work for the writer or reader."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw

from postroad.campaigns.rows import (
    read_campaign,
    read_credential,
    read_exact,
    read_import,
    read_recipient,
    text,
)
from postroad.campaigns.sqlite import ground, ops
from postroad.campaigns.sqlite.db import Db
from postroad.model.campaign import (
    Campaign,
    Counts,
    Job,
    Pulse,
    Recipient,
    Result,
    Row,
    RowState,
    Spec,
    Verb,
)
from postroad.model.credential import Credential
from postroad.ports.campaigns import Import, NewRows
from postroad.ports.clock import Clock
from postroad.ports.tables import FileTables

T = TypeVar("T")


class Base:
    """How work reaches the file."""

    def __init__(self, tables: FileTables, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock
        self._wake: Callable[[], None] = lambda: None

    def hear(self, call: Callable[[], None]) -> None:
        """Call it when there may be something new to do."""
        self._wake = call

    async def ring(self) -> None:
        """There is something new to do: one process has this file."""
        self._wake()

    async def _write(self, work: Callable[[Db], T]) -> T:
        now_ms = self._clock.now_ms()

        def run(connection: apsw.Connection) -> T:
            return work(Db(connection, now_ms))

        return await self._tables.write_own("campaigns", run)

    async def _read(self, work: Callable[[Db], T]) -> T:
        now_ms = self._clock.now_ms()
        return await self._tables.read_own("campaigns", lambda raw: work(Db(raw, now_ms)))


class CredentialVerbs(Base):
    """Where credentials are kept."""

    async def put_credential(self, credential: Credential) -> None:
        """Keep it."""
        one = credential
        values = (one.tenant, one.name, one.kind, text(one.spec), one.key, one.sealed)
        await self._write(lambda db: db.run("put_credential", *values, db.now_ms))

    async def credential(self, tenant: str, name: str) -> Credential | None:
        """The one of that name."""
        row = await self._read(lambda db: db.one("credential", tenant, name))
        return read_credential(row) if row else None

    async def credential_of(self, campaign: int) -> Credential | None:
        """The one that a campaign sends with."""
        row = await self._read(lambda db: db.one("credential_of", campaign))
        return read_credential(row) if row else None

    async def credentials(self, tenant: str) -> list[Credential]:
        """All of a tenant."""
        rows = await self._read(lambda db: db.all("credentials", tenant))
        return [read_credential(row) for row in rows]

    async def delete_credential(self, tenant: str, name: str) -> bool:
        """Forget it."""
        return bool(await self._write(lambda db: db.changed("delete_credential", tenant, name)))

    async def not_under(self, key: str, after: int, limit: int) -> list[Credential]:
        """Credentials that are not sealed with this key."""
        rows = await self._read(lambda db: db.all("not_under", key, after, limit))
        return [read_credential(row) for row in rows]

    async def reseal(self, credential: Credential, key: str, sealed: bytes) -> bool:
        """Seal it with another key."""
        values = (credential.id, key, sealed, credential.sealed)
        return bool(await self._write(lambda db: db.changed("reseal", *values)))

    async def block_credential(self, id: int, until_ms: int, reason: str, streak: int) -> None:  # noqa: A002
        """Not before then."""
        await self._write(lambda db: db.run("block_credential", id, until_ms, reason, streak))


class GroundVerbs(Base):
    """Campaigns and their recipients."""

    async def create(self, tenant: str, name: str, credential: int, spec: Spec) -> bool:
        """A new draft."""
        values = (tenant, name, credential, text(spec))
        return bool(await self._write(lambda db: db.changed("create", *values, db.now_ms)))

    async def campaign(self, tenant: str, name: str) -> Campaign | None:
        """The one of that name."""
        row = await self._read(lambda db: db.one("campaign", tenant, name))
        return read_campaign(row) if row else None

    async def campaign_by_id(self, id: int) -> Campaign | None:  # noqa: A002
        """The one of that number."""
        row = await self._read(lambda db: db.one("campaign_by_id", id))
        return read_campaign(row) if row else None

    async def campaigns(self, tenant: str, after: int, limit: int) -> list[Campaign]:
        """A tenant's."""
        rows = await self._read(lambda db: db.all("campaigns", tenant, after, limit))
        return [read_campaign(row) for row in rows]

    async def move(self, campaign: Campaign, verb: Verb, reason: str = "", at_ms: int = 0) -> bool:
        """Change its state and its jobs'."""
        return await self._write(lambda db: ground.move(db, campaign, verb, reason, at_ms))

    async def override(self, campaign: int) -> None:
        """It does not halt by itself any more."""
        await self._write(lambda db: db.run("override", campaign))

    async def exact(self, campaign: int) -> Counts:
        """Counted row by row."""
        return read_exact(await self._read(lambda db: db.all("exact", campaign)))

    async def page(
        self, campaign: int, state: RowState | None, after: int, limit: int
    ) -> list[Recipient]:
        """Recipients in order."""
        rows = await self._read(lambda db: db.all("page", campaign, state, after, limit))
        return [read_recipient(row) for row in rows]

    async def rows(
        self, campaign: int, after: int, limit: int, *, unsent: bool = False
    ) -> list[Row]:
        """Recipients with their cells, in order."""
        rows = await self._read(lambda db: db.all("rows", campaign, after, limit, unsent))
        return [Row(*row) for row in rows]

    async def settle(self, campaign: int, state: RowState, ns: Sequence[int]) -> int:
        """Uncertain ones are sent, or unsent."""
        return await self._write(lambda db: ground.settle(db, campaign, state, ns))

    async def callback(
        self, campaign: int, n: int, provider_id: str, status: str, code: str
    ) -> bool:
        """A provider's word about one."""
        return await self._write(
            lambda db: ground.callback(db, campaign, n, provider_id, status, code)
        )


class ImportVerbs(Base):
    """How recipients get in."""

    async def open_import(self, new: Import) -> Import:
        """Begin, or go on with the one of the same file."""
        return await self._write(lambda db: ground.open_import(db, new))

    async def load(self, current: Import, rows: NewRows) -> list[int]:
        """Keep these."""
        return await self._write(lambda db: ground.load(db, current, rows))

    async def end_import(self, campaign: int, *, keep: bool) -> bool:
        """All is read, or nothing stays."""
        return await self._write(lambda db: ground.end_import(db, campaign, keep=keep))

    async def importing(self, campaign: int) -> Import | None:
        """The import that is under way."""
        row = await self._read(lambda db: db.one("importing", campaign))
        return read_import(row) if row else None


class OpVerbs(Base):
    """What senders and loggers do."""

    async def claim(self, owner: int, lease_ms: int) -> Job | None:
        """The oldest job that waits."""
        row = await self._write(lambda db: db.one("claim", owner, db.now_ms + lease_ms))
        return Job(*row) if row else None

    async def renew(self, owner: int, lease_ms: int, jobs: Sequence[int]) -> list[Pulse]:
        """Still here."""
        return await self._write(lambda db: ops.renew(db, owner, lease_ms, jobs))

    async def enqueue(self, owner: int, job: Job, limit: int) -> int:
        """Copy a slice of unsent recipients into the ops of a job."""
        return await self._write(lambda db: ops.enqueue(db, owner, job, limit))

    async def queued(self, job: Job, after: int, limit: int) -> list[Row]:
        """Those of a job that wait."""
        return await self._read(lambda db: ops.queued(db, job, after, limit))

    async def intend(self, owner: int, job: Job, ns: Sequence[int]) -> dict[int, int]:
        """Note that these are about to be sent."""
        return await self._write(lambda db: ops.intend(db, owner, job, ns))

    async def record(self, campaign: int, results: Sequence[Result]) -> Counts:
        """What calls gave."""
        return await self._write(lambda db: ops.record(db, campaign, results))

    async def release(self, owner: int, job: Job) -> None:
        """Nothing of it is in flight."""
        await self._write(lambda db: db.run("release", job.id, owner, job.epoch))

    async def reap(self, heirs: Sequence[int] = ()) -> int:
        """Free the jobs of owners that were not heard from."""
        heir = heirs[0] if heirs else 0
        return await self._write(lambda db: ops.reap(db, heir))

    async def log(self) -> list[str]:
        """Finalise campaigns whose jobs are over."""
        return await self._write(ops.log)

    async def due(self) -> tuple[list[Campaign], int, bool]:
        """Scheduled campaigns whose time has come, the next one's time, and whether there is
        anything to do."""

        def look(db: Db) -> tuple[list[Campaign], int, bool]:
            found = [read_campaign(row) for row in db.all("campaigns_due", db.now_ms)]
            start = db.one("next_start", db.now_ms) or (0,)
            return found, start[0], bool((db.one("live") or (0,))[0])

        return await self._read(look)


class SqliteCampaigns(CredentialVerbs, GroundVerbs, ImportVerbs, OpVerbs):
    """One file, one process."""
