"""The campaign store on PostgreSQL: each verb is one statement, but for loading."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count, islice
from typing import Any, Final

import asyncpg
import msgspec

from postroad.model.campaign import (
    FROM_DRAFT,
    JOB_MOVES,
    MOVES,
    NOT_DELIVERED,
    Campaign,
    CampaignState,
    Counts,
    Job,
    Pulse,
    Recipient,
    Result,
    Row,
    RowState,
    Spec,
    Verb,
    WrongState,
    earlier,
)
from postroad.model.credential import Credential
from postroad.ports.campaigns import Import, NewRows
from postroad.ports.sql import load
from postroad.ports.tables import Raw, ServerLine, ServerTables
from postroad.stores.campaign_rows import (
    CHANGED,
    NOT_OURS,
    read_campaign,
    read_credential,
    read_exact,
    read_import,
    read_recipient,
    same_file,
    text,
)

QUERIES: Final = load("postroad.campaigns.postgres")
COLUMNS: Final = ("campaign_id", "n", "line", "recipient", "fields")
PIECE: Final = 1_000
"""Rows in one message of COPY."""
ANSWER_S: Final = 120.0
COUNTS: Final = msgspec.json.Decoder(Counts)
Rows = list[Any]
Insert = Callable[[Raw, int, int, NewRows], Awaitable[list[int]]]


class Base:
    """Three connections: for verbs, imports and logging; for what senders begin; for what came
    of it. Neither of the last two waits for the other."""

    def __init__(self, tables: ServerTables) -> None:
        self._side: ServerLine = tables.own_line("campaigns")
        self._hot: ServerLine = tables.own_line("intents")
        self._results: ServerLine = tables.own_line("results")
        self._tables = tables

    def hear(self, call: Callable[[], None]) -> None:
        """Call it when there may be something new to do, in any process."""
        self._tables.hear_own(call)

    async def ring(self) -> None:
        """There is something new to do."""
        await self._tables.ring_own()

    async def _rows(self, line: ServerLine, name: str, *values: object) -> Rows:
        return await line.work(
            "campaigns", lambda raw: raw.fetch(QUERIES[name], *values, timeout=ANSWER_S)
        )

    async def _all(self, name: str, *values: object) -> Rows:
        return await self._rows(self._side, name, *values)

    async def _one(self, name: str, *values: object) -> Any:
        rows = await self._all(name, *values)
        return rows[0] if rows else None


class CredentialVerbs(Base):
    """Where credentials are kept."""

    async def put_credential(self, credential: Credential) -> None:
        """Keep it."""
        one = credential
        values = (one.tenant, one.name, one.kind, text(one.spec), one.key, one.sealed)
        _ = await self._all("put_credential", *values)  # it gives no rows

    async def credential(self, tenant: str, name: str) -> Credential | None:
        """The one of that name."""
        row = await self._one("credential", tenant, name)
        return read_credential(row) if row else None

    async def credential_of(self, campaign: int) -> Credential | None:
        """The one that a campaign sends with."""
        row = await self._one("credential_of", campaign)
        return read_credential(row) if row else None

    async def credentials(self, tenant: str) -> list[Credential]:
        """All of a tenant."""
        return [read_credential(row) for row in await self._all("credentials", tenant)]

    async def delete_credential(self, tenant: str, name: str) -> bool:
        """Forget it."""
        return bool(await self._all("delete_credential", tenant, name))

    async def not_under(self, key: str, after: int, limit: int) -> list[Credential]:
        """Credentials that are not sealed with this key."""
        return [read_credential(row) for row in await self._all("not_under", key, after, limit)]

    async def reseal(self, credential: Credential, key: str, sealed: bytes) -> bool:
        """Seal it with another key."""
        return bool(await self._all("reseal", credential.id, key, sealed, credential.sealed))

    async def block_credential(self, id: int, until_ms: int, reason: str, streak: int) -> None:  # noqa: A002
        """Not before then."""
        _ = await self._all("block_credential", id, until_ms, reason, streak)  # it gives no rows


class GroundVerbs(Base):
    """Campaigns and their recipients."""

    async def create(self, tenant: str, name: str, credential: int, spec: Spec) -> bool:
        """A new draft."""
        return bool(await self._all("create", tenant, name, credential, text(spec)))

    async def campaign(self, tenant: str, name: str) -> Campaign | None:
        """The one of that name."""
        row = await self._one("campaign", tenant, name)
        return read_campaign(row) if row else None

    async def campaign_by_id(self, id: int) -> Campaign | None:  # noqa: A002
        """The one of that number."""
        row = await self._one("campaign_by_id", id)
        return read_campaign(row) if row else None

    async def campaigns(self, tenant: str, after: int, limit: int) -> list[Campaign]:
        """A tenant's."""
        return [read_campaign(row) for row in await self._all("campaigns", tenant, after, limit)]

    async def move(self, campaign: Campaign, verb: Verb, reason: str = "", at_ms: int = 0) -> bool:
        """Change its state and its jobs'."""
        allowed, after = MOVES[verb]
        before, then = JOB_MOVES.get(verb, (frozenset(), ""))
        states = (sorted(allowed), after, reason, at_ms, sorted(before), then)
        values = (campaign.id, *states, verb is Verb.retry, campaign.spec.jobs)
        name = "move_draft" if verb in FROM_DRAFT else "move"
        return await self._side.work("campaigns", lambda raw: _locked(raw, name, *values))

    async def override(self, campaign: int) -> None:
        """It does not halt by itself any more."""
        _ = await self._all("override", campaign)  # it gives no rows

    async def exact(self, campaign: int) -> Counts:
        """Counted row by row."""
        return read_exact(await self._all("exact", campaign))

    async def page(
        self, campaign: int, state: RowState | None, after: int, limit: int
    ) -> list[Recipient]:
        """Recipients in order."""
        rows = await self._all("page", campaign, state, after, limit)
        return [read_recipient(row) for row in rows]

    async def rows(
        self, campaign: int, after: int, limit: int, *, unsent: bool = False
    ) -> list[Row]:
        """Recipients with their cells, in order."""
        return [Row(*row) for row in await self._all("rows", campaign, after, limit, unsent)]

    async def settle(self, campaign: int, state: RowState, ns: Sequence[int]) -> int:
        """Uncertain ones are sent, or unsent."""
        row = await self._one("settle", campaign, state, list(ns))
        return int(row[0])

    async def callback(
        self, campaign: int, n: int, provider_id: str, status: str, code: str
    ) -> bool:
        """A provider's word about one."""
        bad = status in NOT_DELIVERED
        values = (campaign, n, provider_id, status, code, earlier(status), bad)
        return bool((await self._one("callback", *values))[0])


class ImportVerbs(Base):
    """How recipients get in."""

    async def open_import(self, new: Import) -> Import:
        """Begin, or go on with the one of the same file."""
        # It gives no rows.
        _ = await self._all("import_open", new.campaign, new.digest, text(new.columns))
        current = await self.importing(new.campaign)
        if current is None:
            raise WrongState(CHANGED)
        same_file(current, new)
        return current

    async def load(self, current: Import, rows: NewRows) -> list[int]:
        """Keep these: by COPY, which refuses them all when one is there already; then one by
        one, in one statement."""
        return await self._side.work("campaigns", lambda raw: _load(raw, current, rows))

    async def end_import(self, campaign: int, *, keep: bool) -> bool:
        """All is read, or nothing stays."""
        name = "import_end" if keep else "import_undo"
        return await self._side.work("campaigns", lambda raw: _locked(raw, name, campaign))

    async def importing(self, campaign: int) -> Import | None:
        """The import that is under way."""
        row = await self._one("importing", campaign)
        return read_import(row) if row else None


async def _locked(raw: Raw, name: str, campaign: int, *values: object) -> bool:
    """The answer of a query that sees all that whoever had the campaign has written: a statement
    sees what was there when it began, so the wait for a lock has one of its own."""
    async with raw.transaction():
        await raw.execute(QUERIES["lock_campaign"], campaign)
        return bool(await raw.fetchval(QUERIES[name], campaign, *values, timeout=ANSWER_S))


async def _load(raw: Raw, current: Import, rows: NewRows) -> list[int]:
    try:
        return await _loaded(raw, current, rows, _copy)
    except asyncpg.UniqueViolationError:
        return await _loaded(raw, current, rows, _sift)


async def _loaded(raw: Raw, current: Import, rows: NewRows, insert: Insert) -> list[int]:
    """Rows and how far the import has come, in one transaction that waits for no disk: the one
    that ends the import does, for all before it."""
    async with raw.transaction():
        standing = (current.campaign, current.digest, current.line)
        found = await raw.fetchrow(QUERIES["last_n"], *standing)
        if found is None:
            raise WrongState(NOT_OURS)
        doubles = await insert(raw, current.campaign, found["last_n"], rows)
        kept = len(rows.lines) - len(doubles)
        values = (current.campaign, rows.lines[-1], kept, len(doubles))
        await raw.execute(QUERIES["import_go"], *values)
    return doubles


async def _copy(raw: Raw, campaign: int, first: int, rows: NewRows) -> list[int]:
    """All, or a UniqueViolationError."""
    text = _copied(campaign, first, rows)
    await raw.copy_to_table(
        "campaign_message", schema_name="postroad", columns=COLUMNS, source=text
    )
    return []


async def _sift(raw: Raw, campaign: int, first: int, rows: NewRows) -> list[int]:
    """Those that are not there yet; answers the lines of the others."""
    values = (campaign, first, rows.lines, rows.recipients, rows.fields)
    found: list[int] = await raw.fetchval(QUERIES["load"], *values, timeout=ANSWER_S)
    return found


async def _copied(campaign: int, first: int, rows: NewRows) -> AsyncIterator[bytes]:
    """COPY's text, in pieces: the server takes one in while the next is written."""
    numbered = zip(count(first + 1), rows.lines, rows.recipients, rows.fields)
    while part := tuple(islice(numbered, PIECE)):
        text = "".join([f"{campaign}\t{n}\t{line}\t{to}\t{cells}\n" for n, line, to, cells in part])
        yield text.replace("\\", r"\\").encode()


class OpVerbs(Base):
    """What senders and loggers do."""

    async def claim(self, owner: int, lease_ms: int) -> Job | None:
        """The oldest job that waits."""
        row = await self._one("claim", owner, lease_ms)
        return Job(*row) if row else None

    async def renew(self, owner: int, lease_ms: int, jobs: Sequence[int]) -> list[Pulse]:
        """Still here."""
        rows = await self._rows(self._hot, "renew", owner, lease_ms, list(jobs))
        return [Pulse(job, CampaignState(state), *rest) for job, state, *rest in rows]

    async def enqueue(self, owner: int, job: Job, limit: int) -> int:
        """Copy a slice of unsent recipients into the ops of a job."""
        rows = await self._rows(self._hot, "enqueue", job.id, owner, job.epoch, limit)
        return int(rows[0][0])

    async def queued(self, job: Job, after: int, limit: int) -> list[Row]:
        """Those of a job that wait."""
        rows = await self._rows(self._hot, "queued", job.id, after, limit)
        return [Row(*row) for row in rows]

    async def intend(self, owner: int, job: Job, ns: Sequence[int]) -> dict[int, int]:
        """Note that these are about to be sent."""
        values = (job.id, owner, job.epoch, job.campaign, list(ns))
        rows = await self._rows(self._hot, "intend", *values)
        return {row["n"]: row["tries"] for row in rows}

    async def record(self, campaign: int, results: Sequence[Result]) -> Counts:
        """What calls gave."""
        rows = await self._rows(self._results, "record", campaign, *_columns(results))
        return COUNTS.decode(rows[0][0])

    async def release(self, owner: int, job: Job) -> None:
        """Nothing of it is in flight."""
        _ = await self._all("release", job.id, owner, job.epoch)  # it gives no rows

    async def reap(self, heirs: Sequence[int] = ()) -> int:  # noqa: ARG002 - leases alone count
        """Free the jobs of owners that were not heard from."""
        return int((await self._one("reap"))[0])

    async def log(self) -> list[str]:
        """Finalise campaigns whose jobs are over."""
        return list((await self._one("log"))[0])

    async def due(self) -> tuple[list[Campaign], int, bool]:
        """Scheduled campaigns whose time has come, the next one's time, and whether there is
        anything to do."""
        row = await self._one("outlook")
        rows = await self._all("campaigns_due") if row["due"] else []
        return [read_campaign(each) for each in rows], row["next"], row["live"]


def _columns(results: Sequence[Result]) -> tuple[list[Any], ...]:
    """One list for each value of a result."""
    return (
        [one.n for one in results],
        [one.tries for one in results],
        [one.state for one in results],
        [one.provider_id for one in results],
        [one.code for one in results],
        [one.sub_type for one in results],
        [0 if one.state == RowState.unsent else one.started_at_ms for one in results],
        [0 if one.state == RowState.unsent else one.answered_at_ms for one in results],
    )


class PostgresCampaigns(CredentialVerbs, GroundVerbs, ImportVerbs, OpVerbs):
    """A fleet on one database."""
