"""What the lanes of one job have in common."""

import asyncio
from typing import Final

from msgspec import Struct

from postroad.campaigns.open_hours import Hours, RecipientHours
from postroad.campaigns.recording import ResultRecorder
from postroad.campaigns.rendering import Renderer
from postroad.model.campaign import CallResult, Campaign, Job, Row, RowState, Verb
from postroad.model.credential import Credential
from postroad.model.entities import Queue
from postroad.model.redaction import Redaction
from postroad.observe.figures import FigureGatherer
from postroad.observe.tasks import Tasks
from postroad.ports.campaigns import CampaignStore, Intents
from postroad.ports.channel import Channel
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.pace import Pace
from postroad.ports.rules import AnswerRules
from postroad.ports.store import Store
from postroad.ports.transport import Session

WINDOW: Final = 512
"""Maximum calls of a job whose results are not written yet."""
RETRY_S: Final = 1.0


class SenderDeps(Struct, frozen=True):
    """What all senders of a process share."""

    store: CampaignStore
    road: Store
    pace: Pace
    figures: FigureGatherer
    clock: Clock
    log: Log
    rules: AnswerRules
    owner: int
    drain_s: float
    redaction: Redaction


class OpenedChannel(Struct, frozen=True):
    """What a campaign sends through: a channel, the queue of its messages, a session of its lane,
    and how many calls that takes at once (0: as many as there are)."""

    channel: Channel
    queue: Queue
    session: Session
    sessions: int = 0
    by_site: bool = False
    """Recipients are at many servers: each has the queue and lane of its site."""


class JobContext(Struct, frozen=True):
    """One job, with its campaign, and what it sends with."""

    job: Job
    campaign: Campaign
    credential: Credential
    opened: OpenedChannel


async def halt(deps: SenderDeps, campaign: Campaign, why: str) -> None:
    """Halt a campaign, unless somebody else moved it meanwhile."""
    if await deps.store.move(campaign, Verb.halt, why):
        deps.log.warning("campaign halted", campaign=campaign.name, reason=why)


class _IntentBatch:
    """Intents that are written together."""

    def __init__(self) -> None:
        self.ns: list[int] = []
        self.answer: Intents | Exception | None = None


class JobRun:
    """Reads ahead for the lanes of a job are known here, and so is whether it goes on."""

    def __init__(self, deps: SenderDeps, context: JobContext) -> None:
        self.deps = deps
        self.context = context
        self.renderer = Renderer(context.campaign, context.opened.channel)
        self.recorder = ResultRecorder(deps.store, context.campaign, deps.clock, deps.log)
        self.hours = RecipientHours(context.campaign)
        self.tasks = Tasks(deps.log, self.recorder.fail)
        self.lanes = Tasks(deps.log, lambda _: self.recorder.changed.set())
        """What fails there ends the job, and not the process."""
        self.ahead: set[int] = set()
        """Recipients that a lane has, until a result is written: they are not read twice."""
        self.blocked_until_ms = 0
        """Until when the credential is blocked, which holds for all lanes."""
        self.stopping = False
        self.refused = ""
        """Why nothing can be sent any more."""
        self.uncalled: list[int] = []
        """Whether their intents are stored is not known; no call was made to them."""
        self._intents = _IntentBatch()
        self._writing = asyncio.Lock()

    def stop(self) -> None:
        """Begin no more calls."""
        self.stopping = True
        self.recorder.changed.set()

    def refuse(self, why: str) -> None:
        """Halt the campaign, because nothing can be sent any more."""
        self.refused = self.refused or why
        self.recorder.changed.set()

    def check(self) -> None:
        """Raise what went wrong in a lane or with the results."""
        self.recorder.check()
        if self.lanes.error is not None:
            raise self.lanes.error

    def may_go(self, row: Row, hours: Hours, now_ms: int) -> bool:
        """Whether a recipient may be sent to now; else it is put off."""
        if row.due_ms > now_ms:
            self.hours.defer(row.due_ms)
            return False
        return not hours or self.hours.admits(hours, row, now_ms)

    def keep_back(self, row: Row, reason: str) -> None:
        """Record that a recipient is on a suppression list: no call and no slot is spent on it."""
        self.recorder.in_flight += 1
        self.recorder.add(CallResult(row.n, row.tries, RowState.suppressed, sub_type=reason))

    async def intend(self, ns: list[int]) -> Intents:
        """Store intents. While some are written, those of other lanes gather, for one commit. If it
        fails it fails for all of them."""
        batch = self._intents
        batch.ns += ns
        async with self._writing:
            if batch.answer is None:
                self._intents = _IntentBatch()
                batch.answer = await self._answer(batch.ns)
        if isinstance(batch.answer, Exception):
            raise batch.answer
        return batch.answer

    async def _answer(self, ns: list[int]) -> Intents | Exception:
        """Write intents. If it is not known whether they are stored the job begins again, at
        another epoch: a commit that comes late finds that the job is not this owner's any more."""
        try:
            return await self.deps.store.intend(self.deps.owner, self.context.job, ns)
        except Exception as error:  # noqa: BLE001 - each lane of the batch raises it
            self.uncalled += ns
            self.stop()
            return error
