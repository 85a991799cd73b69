"""Campaigns in PostgreSQL: each verb is one statement. Imports stand in `campaign_imports`."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from postroad.model.campaign import (
    FROM_DRAFT,
    JOB_MOVES,
    MOVES,
    NOT_DELIVERED,
    CallResult,
    Campaign,
    CampaignState,
    Counts,
    Job,
    Pulse,
    Row,
    RowState,
    Spec,
    Verb,
    earlier,
)
from postroad.ports.campaigns import Intents
from postroad.stores.campaign_rows import read_campaign, text
from postroad.stores.postgres.campaign_imports import CampaignConnections, PostgresImports, locked

COUNTS: Final = msgspec.json.Decoder(Counts)


class PostgresCampaignStates(CampaignConnections):
    """Campaigns and their recipients."""

    async def move(self, campaign: Campaign, verb: Verb, reason: str = "", at_ms: int = 0) -> bool:
        """Change the state of a campaign and of its jobs."""
        allowed, after = MOVES[verb]
        before, then = JOB_MOVES.get(verb, (frozenset(), ""))
        states = (sorted(allowed), after, reason, at_ms, sorted(before), then)
        values = (campaign.id, *states, verb is Verb.retry, campaign.spec.jobs)
        name = "campaign_move_draft" if verb in FROM_DRAFT else "campaign_move"
        return await self._side.work("campaigns", lambda raw: locked(raw, name, *values))

    async def edit(self, campaign: Campaign, credential: int, spec: Spec) -> bool:
        """Replace its credential and its spec, if it is as it was read."""
        read = (campaign.credential, text(campaign.spec), text(campaign.columns))
        values = (campaign.id, credential, text(spec), *read)
        return await self._side.work("campaigns", lambda raw: locked(raw, "campaign_edit", *values))

    async def delete_some(self, campaign: int, limit: int) -> bool | None:
        """Delete some of its recipients, and it with the last."""
        found: bool | None = (await self._one("campaign_delete_some", campaign, limit))[0]
        return found

    async def settle(self, campaign: int, state: RowState, ns: Sequence[int]) -> int:
        """Settle uncertain recipients as sent, or as unsent."""
        return int((await self._one("recipients_settle", campaign, state, list(ns)))[0])

    async def callback(
        self, campaign: int, n: int, provider_id: str, status: str, code: str
    ) -> bool:
        """Apply what a provider reports about a recipient."""
        bad = status in NOT_DELIVERED
        values = (campaign, n, provider_id, status, code, earlier(status), bad)
        return bool((await self._one("recipient_callback", *values))[0])


class PostgresJobs(CampaignConnections):
    """Jobs: what senders and loggers do."""

    async def claim(self, owner: int, lease_ms: int) -> Job | None:
        """Own the oldest job that waits."""
        row = await self._sql.first("campaigns", "job_claim", owner, lease_ms)
        return Job(*row) if row else None

    async def renew(self, owner: int, lease_ms: int, jobs: Sequence[int]) -> list[Pulse]:
        """Renew the leases of jobs; returns their states."""
        values = (owner, lease_ms, list(jobs))
        rows = await self._hot.rows("campaigns", "jobs_renew", values)
        return [Pulse(job, CampaignState(state), *rest) for job, state, *rest in rows]

    async def enqueue(self, owner: int, job: Job, limit: int) -> int:
        """Copy a slice of unsent recipients into the ops of a job."""
        values = (job.id, owner, job.epoch, limit)
        rows = await self._hot.rows("campaigns", "ops_enqueue", values)
        return int(rows[0][0])

    async def queued(self, job: Job, after: int, limit: int) -> list[Row]:
        """Recipients of a job that wait to be sent."""
        values = (job.id, after, limit)
        rows = await self._hot.rows("campaigns", "ops_queued", values)
        return [Row(*row) for row in rows]

    async def intend(self, owner: int, job: Job, ns: Sequence[int]) -> Intents:
        """Note that these are about to be sent."""
        values = (job.id, owner, job.epoch, job.campaign, list(ns))
        rows = await self._hot.rows("campaigns", "ops_intend", values)
        kept_back = {n: reason for n, _, reason in rows if reason}
        return Intents({n: tries for n, tries, reason in rows if not reason}, kept_back)

    async def record(self, campaign: int, results: Sequence[CallResult]) -> Counts:
        """Record what calls gave."""
        values = (campaign, *_columns(results))
        rows = await self._results.rows("campaigns", "ops_record", values)
        return COUNTS.decode(rows[0][0]) if rows[0][0] else Counts()

    async def release(
        self, owner: int, job: Job, uncalled: Sequence[int] = (), *, repeats: bool = False
    ) -> None:
        """Give the job back: none of its calls is under way."""
        _ = await self._one(
            "job_release", job.id, owner, job.epoch, list(uncalled), repeats
        )  # its epoch fences it

    async def reap(
        self,
        heirs: Sequence[int] = (),  # noqa: ARG002 - leases alone count
        repeats: Sequence[str] = (),
    ) -> int:
        """Free the jobs of owners that were silent for too long."""
        return int((await self._one("jobs_reap", list(repeats)))[0])

    async def log(self) -> list[str]:
        """Finalise campaigns whose jobs are over."""
        return list((await self._one("campaigns_log"))[0])

    async def due(self) -> tuple[list[Campaign], int, bool]:
        """Scheduled campaigns whose time has come, the next one's time, and whether there is
        anything to do."""
        row = await self._one("campaigns_outlook")
        rows = await self._sql.select("campaigns", "campaigns_due") if row["due"] else []
        return [read_campaign(each) for each in rows], row["next"], row["live"]


def _columns(results: Sequence[CallResult]) -> tuple[list[Any], ...]:
    """One list for each value of a result."""
    return tuple(map(list, zip(*map(_values, results), strict=True))) or ([],) * 10


def _values(one: CallResult) -> tuple[Any, ...]:
    unsent = one.state == RowState.unsent
    times = (0, 0) if unsent else (one.started_at_ms, one.answered_at_ms)
    texts = (one.provider_id, one.code, one.sub_type, one.error)
    return (one.n, one.tries, one.state, *texts, *times, one.due_ms)


class PostgresCampaigns(PostgresCampaignStates, PostgresImports, PostgresJobs):
    """The campaigns of a fleet on one database."""
