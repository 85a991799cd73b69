"""Campaigns in a SQLite file: each verb is one piece of work for the writer or the reader."""

from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from postroad.model.campaign import (
    CallResult,
    Campaign,
    Counts,
    Job,
    Pulse,
    Row,
    RowState,
    Spec,
    Verb,
)
from postroad.ports.campaigns import Import, Intents, NewRows
from postroad.stores.campaign_rows import read_campaign, text
from postroad.stores.campaign_tables import CampaignTables
from postroad.stores.sqlite import campaign_jobs, campaign_recipients
from postroad.stores.sqlite.base import SqliteBase
from postroad.stores.sqlite.database import Database

T = TypeVar("T")
P = ParamSpec("P")


class CampaignFile(CampaignTables):
    """How work on the tables of campaigns reaches the open file."""

    def __init__(self, store: SqliteBase) -> None:
        super().__init__(store)
        self._store = store
        self._wake: Callable[[], None] = lambda: None

    def hear(self, call: Callable[[], None]) -> None:
        """Call it when there may be something new to do."""
        self._wake = call

    async def ring(self) -> None:
        """Wake the sender of this process: no other has this file."""
        self._wake()

    @property
    def _now_ms(self) -> int:
        return self._store.clock.now_ms()

    def _now(self) -> tuple[int, ...]:
        return (self._now_ms,)

    async def _write(
        self, work: Callable[Concatenate[Database, P], T], *values: P.args, **named: P.kwargs
    ) -> T:
        def run(db: Database) -> T:
            return work(db, *values, **named)

        return await self._store.write("campaigns", run, durable=True)


class SqliteCampaignRecords(CampaignFile):
    """Campaigns and their recipients."""

    async def move(self, campaign: Campaign, verb: Verb, reason: str = "", at_ms: int = 0) -> bool:
        """Change its state and its jobs'."""
        values = (campaign, verb, self._now_ms, reason, at_ms)
        return await self._write(campaign_recipients.move, *values)

    async def edit(self, campaign: Campaign, credential: int, spec: Spec) -> bool:
        """Replace its credential and its spec, if it is as it was read."""
        read = (campaign.credential, text(campaign.spec), text(campaign.columns))
        values = (campaign.id, credential, text(spec), *read)
        return bool(await self._write(Database.changed, "campaign_edit", *values))

    async def delete_some(self, campaign: int, limit: int) -> bool | None:
        """Delete some of its recipients, and it with the last."""
        return await self._write(campaign_recipients.delete_some, campaign, limit, self._now_ms)

    async def settle(self, campaign: int, state: RowState, ns: Sequence[int]) -> int:
        """Settle uncertain recipients as sent or unsent."""
        return await self._write(campaign_recipients.settle, campaign, state, ns, self._now_ms)

    async def callback(
        self, campaign: int, n: int, provider_id: str, status: str, code: str
    ) -> bool:
        """Apply what a provider reports about one recipient."""
        said = (provider_id, status, code)
        return await self._write(campaign_recipients.callback, campaign, n, said, self._now_ms)


class SqliteImports(CampaignFile):
    """How recipients get in."""

    async def open_import(self, new: Import) -> Import:
        """Begin, or go on with the import of the same file."""
        return await self._write(campaign_recipients.open_import, new)

    async def load(self, current: Import, rows: NewRows) -> list[int]:
        """Insert rows, and note how far the file is read."""
        return await self._write(campaign_recipients.load, current, rows)

    async def end_import(self, campaign: int, *, keep: bool) -> bool:
        """End the import, or undo it."""
        return await self._write(campaign_recipients.end_import, campaign, keep=keep)


class SqliteCampaignJobs(CampaignFile):
    """What senders do, and who finalises their campaigns."""

    async def claim(self, owner: int, lease_ms: int) -> Job | None:
        """Own the oldest job that is ready."""
        until_ms = self._now_ms + lease_ms
        row = await self._write(Database.one, "job_claim", owner, until_ms)
        return Job(*row) if row else None

    async def renew(self, owner: int, lease_ms: int, jobs: Sequence[int]) -> list[Pulse]:
        """Renew the leases of these jobs; answers how they stand."""
        return await self._write(campaign_jobs.renew, owner, lease_ms, jobs, self._now_ms)

    async def enqueue(self, owner: int, job: Job, limit: int) -> int:
        """Copy a slice of unsent recipients into the operations of a job."""
        return await self._write(campaign_jobs.enqueue, owner, job, limit, self._now_ms)

    async def queued(self, job: Job, after: int, limit: int) -> list[Row]:
        """The recipients of a job that wait to be sent to."""
        rows = await self._sql.select("campaigns", "ops_queued", job.id, after, limit)
        return [Row(*row) for row in rows]

    async def intend(self, owner: int, job: Job, ns: Sequence[int]) -> Intents:
        """Note that these are about to be sent."""
        return await self._write(campaign_jobs.intend, owner, job, ns, self._now_ms)

    async def record(self, campaign: int, results: Sequence[CallResult]) -> Counts:
        """Write results of calls."""
        return await self._write(campaign_jobs.record, campaign, results)

    async def release(
        self, owner: int, job: Job, uncalled: Sequence[int] = (), *, repeats: bool = False
    ) -> None:
        """Give the job back: none of its calls is under way."""
        await self._write(campaign_jobs.release, owner, job, uncalled, repeats=repeats)

    async def reap(self, heirs: Sequence[int] = (), repeats: Sequence[str] = ()) -> int:
        """Free the jobs of owners that were not heard from."""
        only_owner = heirs[0] if heirs else 0
        return await self._write(campaign_jobs.reap, only_owner, repeats, self._now_ms)

    async def log(self) -> list[str]:
        """Finalise campaigns whose jobs are over."""
        return await self._write(campaign_jobs.log, self._now_ms)

    async def due(self) -> tuple[list[Campaign], int, bool]:
        """Scheduled campaigns whose time has come, the next one's time, and whether there is
        anything to do."""
        now_ms = self._now_ms

        def look(db: Database) -> tuple[list[Campaign], int, bool]:
            found = [read_campaign(row) for row in db.all("campaigns_due", now_ms)]
            start_ms = db.number("campaign_next_start", now_ms) or 0
            return found, start_ms, bool(db.number("jobs_live"))

        return await self._store.read("campaigns", look)


class SqliteCampaigns(SqliteCampaignRecords, SqliteImports, SqliteCampaignJobs):
    """The campaign store of one file."""
