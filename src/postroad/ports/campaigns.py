"""What campaigns need of a store: ground truth, ops, jobs, credentials, imports."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

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


class Import(Struct, frozen=True):
    """An import that is under way: how far it has come."""

    campaign: int
    digest: str
    """Of the whole file: another one does not continue it."""
    columns: tuple[str, ...]
    line: int = 0
    rows: int = 0
    duplicates: int = 0


class NewRows(Struct, frozen=True):
    """Recipients from a file, column by column: none has a control character in it."""

    lines: Sequence[int]
    recipients: Sequence[str]
    fields: Sequence[str]
    """Each one's cells as a JSON list."""


class Credentials(Protocol):
    """Where credentials are kept."""

    async def put_credential(self, credential: Credential) -> None:
        """Keep it, instead of one of the same name."""

    async def credential(self, tenant: str, name: str) -> Credential | None:
        """The one of that name."""

    async def credential_of(self, campaign: int) -> Credential | None:
        """The one that a campaign sends with."""

    async def credentials(self, tenant: str) -> list[Credential]:
        """All of a tenant, by name."""

    async def delete_credential(self, tenant: str, name: str) -> bool:
        """Forget it; False when there is none, or a campaign that is not over needs it."""

    async def not_under(self, key: str, after: int, limit: int) -> list[Credential]:
        """Credentials of all tenants that are not sealed with this key, in order."""

    async def reseal(self, credential: Credential, key: str, sealed: bytes) -> bool:
        """Seal it with another key; False when it has changed meanwhile."""

    async def block_credential(self, id: int, until_ms: int, reason: str, streak: int) -> None:  # noqa: A002
        """Not before then, for everybody who sends with it."""


class Ground(Protocol):
    """Campaigns and their recipients."""

    async def create(self, tenant: str, name: str, credential: int, spec: Spec) -> bool:
        """A new draft; False when the name is taken."""

    async def campaign(self, tenant: str, name: str) -> Campaign | None:
        """The one of that name."""

    async def campaign_by_id(self, id: int) -> Campaign | None:  # noqa: A002
        """The one of that number."""

    async def campaigns(self, tenant: str, after: int, limit: int) -> list[Campaign]:
        """A tenant's, in the order in which they were made."""

    async def move(self, campaign: Campaign, verb: Verb, reason: str = "", at_ms: int = 0) -> bool:
        """Change its state and its jobs'; False when it is not in a state for that any more."""

    async def override(self, campaign: int) -> None:
        """It does not halt by itself any more."""

    async def exact(self, campaign: int) -> Counts:
        """Counted row by row, all of one moment."""

    async def page(
        self, campaign: int, state: RowState | None, after: int, limit: int
    ) -> list[Recipient]:
        """Recipients in order."""

    async def rows(
        self, campaign: int, after: int, limit: int, *, unsent: bool = False
    ) -> list[Row]:
        """Recipients with their cells, in order; all, or those that are unsent."""

    async def settle(self, campaign: int, state: RowState, ns: Sequence[int]) -> int:
        """Uncertain ones are sent, or unsent (none named: all); answers how many."""

    async def callback(
        self, campaign: int, n: int, provider_id: str, status: str, code: str
    ) -> bool:
        """A provider's word about one: it was taken, and how far it is. False: not known."""

    async def open_import(self, new: Import) -> Import:
        """Begin, or go on with the one of the same file; WrongState when another is under way, or
        the campaign is no draft any more."""

    async def load(self, current: Import, rows: NewRows) -> list[int]:
        """Keep these, and that the file is read up to their last line; answers the lines of those
        that are there already. WrongState when the import does not stand at `current.line`: it
        was discarded, or somebody else goes on with it."""

    async def end_import(self, campaign: int, *, keep: bool) -> bool:
        """All is read; or (not `keep`) nothing of this import stays. False: there was none."""

    async def importing(self, campaign: int) -> Import | None:
        """The import that is under way."""


class Ops(Protocol):
    """What senders and loggers do."""

    async def claim(self, owner: int, lease_ms: int) -> Job | None:
        """The oldest job that waits."""

    async def renew(self, owner: int, lease_ms: int, jobs: Sequence[int]) -> list[Pulse]:
        """Still here, and at work on these: those that are ours, and how they stand. A job that
        we do not know of, as its claim's answer was lost, is left to its lease."""

    async def enqueue(self, owner: int, job: Job, limit: int) -> int:
        """Copy a slice of unsent recipients into the ops of a job; answers how many."""

    async def queued(self, job: Job, after: int, limit: int) -> list[Row]:
        """Those of a job that wait to be sent."""

    async def intend(self, owner: int, job: Job, ns: Sequence[int]) -> dict[int, int]:
        """Note that these are about to be sent, each with the number of its try; none when the
        job is not ours any more or its campaign does not run."""

    async def record(self, campaign: int, results: Sequence[Result]) -> Counts:
        """What calls gave. A late one settles what was uncertain."""

    async def release(self, owner: int, job: Job) -> None:
        """Nothing of it is in flight. Without anything queued it is SENT."""

    async def reap(self, heirs: Sequence[int] = ()) -> int:
        """Jobs whose owners were not heard from are free; what they had begun is uncertain.
        Answers how many jobs. `heirs`: every other owner is known to be dead."""

    async def log(self) -> list[str]:
        """Finalise campaigns whose jobs are over and whose counts add up; answers those that do
        not, by name."""

    async def due(self) -> tuple[list[Campaign], int, bool]:
        """Scheduled campaigns whose time has come, when the next one's does (0: none), and
        whether there is anything to do for senders or loggers."""


class CampaignStore(Credentials, Ground, Ops, Protocol):
    """All of it, on one database."""

    def hear(self, call: Callable[[], None]) -> None:
        """Call it when there may be something new to do, here or in another process."""

    async def ring(self) -> None:
        """There is something new to do. A lost ring costs minutes, never a message."""
