"""What campaigns need of a store: credentials, campaigns, recipients, imports and jobs."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from postroad.model.campaign import (
    CallResult,
    Campaign,
    Counts,
    Job,
    Pulse,
    Recipient,
    Row,
    RowState,
    Spec,
    Verb,
)
from postroad.model.credential import Credential


class Import(Struct, frozen=True):
    """How far an import has come."""

    campaign: int
    digest: str
    """Identifies the file: an import goes on with the same file only."""
    columns: tuple[str, ...]
    line: int = 0
    rows: int = 0
    duplicates: int = 0


class Intents(Struct, frozen=True):
    """Recipients that are about to be sent to, by their numbers."""

    tries: dict[int, int]
    """The number of each one's try."""
    suppressed: dict[int, str]
    """Those who are on a suppression list, and why: no call to them may begin."""


class NewRows(Struct, frozen=True):
    """Recipients from a file, column by column, without control characters."""

    lines: Sequence[int]
    recipients: Sequence[str]
    fields: Sequence[str]
    """Each one's cells as a JSON list."""


class Credentials(Protocol):
    """Where credentials are kept."""

    async def put_credential(self, credential: Credential) -> None:
        """Store it, or replace the one of the same name."""

    async def credential(self, tenant: str, name: str) -> Credential | None:
        """The credential of that name."""

    async def credential_of(self, campaign: int) -> Credential | None:
        """The credential that a campaign sends with."""

    async def credentials(self, tenant: str) -> list[Credential]:
        """All credentials of a tenant, by name."""

    async def delete_credential(self, tenant: str, name: str) -> bool:
        """Delete it; False when there is none, or a campaign names it."""

    async def not_under(self, key: str, after: int, limit: int) -> list[Credential]:
        """Credentials of all tenants that are not sealed with this key, in order."""

    async def reseal(self, credential: Credential, key: str, sealed: bytes) -> bool:
        """Seal it with another key; False when it has changed meanwhile."""

    async def refused(self, tenant: str, kind: str, name: str, after: int, limit: int) -> list[int]:
        """The next queues of a credential that are disabled; of all tenants for ""."""

    async def block_credential(self, id: int, until_ms: int, reason: str, streak: int) -> None:  # noqa: A002
        """Block it until a time, for everybody who sends with it."""


class CampaignRecords(Protocol):
    """Campaigns and their recipients."""

    async def create(self, tenant: str, name: str, credential: int, spec: Spec) -> bool:
        """Insert a draft; False when the name is taken."""

    async def campaign(self, tenant: str, name: str) -> Campaign | None:
        """The campaign of that name."""

    async def campaign_by_id(self, id: int) -> Campaign | None:  # noqa: A002
        """The campaign of that number."""

    async def campaigns(self, tenant: str, after: int, limit: int) -> list[Campaign]:
        """A tenant's campaigns in the order in which they were made."""

    async def move(self, campaign: Campaign, verb: Verb, reason: str = "", at_ms: int = 0) -> bool:
        """Change its state and its jobs'; False when it is not in a state for that any more."""

    async def edit(self, campaign: Campaign, credential: int, spec: Spec) -> bool:
        """Replace its credential and its spec; False when it may not be edited any more, has
        changed since it was read, or an import is under way."""

    async def delete_some(self, campaign: int, limit: int) -> bool | None:
        """Delete up to so many of its recipients; it is cancelled from the first call on, and goes
        with the last recipient. True when it is gone, None when it may not be deleted."""

    async def note(self, campaign: int, reason: str) -> None:
        """Say why a running campaign waits; nothing when it does not."""

    async def held_until(self, queue: int, lane: int) -> tuple[int, bool]:
        """Until when nothing of a queue may start on its lane: two seconds from now while one of
        them is paused or blocked, or the circuit open, since that may end early; else 0. And
        whether the circuit is open: then one call tells whether the server is there."""

    async def override(self, campaign: int) -> None:
        """Stop a campaign from halting by itself."""

    async def exact(self, campaign: int) -> Counts:
        """Count its recipients one by one, all at one moment."""

    async def page(
        self, campaign: int, state: RowState | None, after: int, limit: int
    ) -> list[Recipient]:
        """A page of recipients and their results, in order."""

    async def page_with_cells(
        self, campaign: int, state: RowState | None, after: int, limit: int
    ) -> list[tuple[Recipient, str]]:
        """The same page, each recipient with its cells as a JSON list."""

    async def rows(
        self, campaign: int, after: int, limit: int, *, unsent: bool = False
    ) -> list[Row]:
        """A page of recipients with their cells, in order; all, or only unsent ones."""

    async def settle(self, campaign: int, state: RowState, ns: Sequence[int]) -> int:
        """Settle uncertain recipients as sent or unsent (none named: all); answers how many."""

    async def callback(
        self, campaign: int, n: int, provider_id: str, status: str, code: str
    ) -> bool:
        """Apply what a provider reports about one recipient: it has accepted the message, and its
        status. False: the message is not known."""

    async def open_import(self, new: Import) -> Import:
        """Begin, or go on with the import of the same file. WrongState: another is under way, or
        the campaign is no draft any more."""

    async def load(self, current: Import, rows: NewRows) -> list[int]:
        """Insert rows, and note that the file is read up to their last line; answers the lines of
        recipients that are there already. WrongState when the import does not stand at
        `current.line`: it was discarded, or somebody else goes on with it."""

    async def end_import(self, campaign: int, *, keep: bool) -> bool:
        """End the import; without `keep` its recipients are deleted. False: there was none."""

    async def importing(self, campaign: int) -> Import | None:
        """The import that is under way."""


class CampaignJobs(Protocol):
    """What senders do, and who finalises campaigns."""

    async def claim(self, owner: int, lease_ms: int) -> Job | None:
        """Own the oldest job that is ready."""

    async def renew(self, owner: int, lease_ms: int, jobs: Sequence[int]) -> list[Pulse]:
        """Renew the leases of these jobs; answers how those stand that are still the owner's. The
        lease of a job whose claim was not answered runs out."""

    async def enqueue(self, owner: int, job: Job, limit: int) -> int:
        """Copy a slice of unsent recipients into the operations of a job; answers how many."""

    async def queued(self, job: Job, after: int, limit: int) -> list[Row]:
        """The recipients of a job that wait to be sent to."""

    async def intend(self, owner: int, job: Job, ns: Sequence[int]) -> Intents:
        """Note that these are about to be sent to, each with the number of its try; none when the
        job has another owner or its campaign does not run. Who is on a suppression list in that
        moment is not noted."""

    async def record(self, campaign: int, results: Sequence[CallResult]) -> Counts:
        """Write results of calls; answers the counts. A late one settles an uncertain recipient."""

    async def release(
        self, owner: int, job: Job, uncalled: Sequence[int] = (), *, repeats: bool = False
    ) -> None:
        """Give the job back: none of its calls is under way. Without operations it is SENT. What is
        begun and has no result is uncertain, or queued again: the uncalled ones, to whom no call
        was made, and all where the channel `repeats`."""

    async def reap(self, heirs: Sequence[int] = (), repeats: Sequence[str] = ()) -> int:
        """Free the jobs of owners that were not heard from; answers how many. What they had begun
        is uncertain, or queued again where the channel is one of `repeats`. `heirs`: every other
        owner is known to be dead."""

    async def log(self) -> list[str]:
        """Finalise campaigns whose jobs are over; answers the names of those whose counts do not
        add up."""

    async def due(self) -> tuple[list[Campaign], int, bool]:
        """Scheduled campaigns whose time has come, when the next one's does (0: none), and
        whether there is anything else to do."""


class CampaignStore(Credentials, CampaignRecords, CampaignJobs, Protocol):
    """The campaign store of one database."""

    def hear(self, call: Callable[[], None]) -> None:
        """Call it when there may be something new to do, here or in another process."""

    async def ring(self) -> None:
        """Wake the workers: there is something new to do. A lost wake-up costs only minutes."""
