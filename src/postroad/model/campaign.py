"""Values of campaigns: states, which verb moves them where, results, counts, and when to halt."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.blobs import Attachment
from postroad.model.errors import BadInput
from postroad.model.outcome import Kind


class WrongState(BadInput):
    """The campaign is in a state in which this cannot be asked for; nothing was changed."""


class BadTemplate(BadInput):
    """The template cannot be used; its place and what to write instead are said."""


class UnknownCampaign(BadInput):
    """No campaign of that name is known."""


class CampaignState(StrEnum):
    """The state of a campaign."""

    draft = "draft"
    scheduled = "scheduled"
    running = "running"
    stopped = "stopped"
    halted = "halted"
    cancelled = "cancelled"
    done = "done"


class JobState(StrEnum):
    """The state of a campaign job."""

    ready = "READY"
    enqueued = "ENQUEUED"
    sending = "SENDING"
    sent = "SENT"
    stopped = "STOPPED"
    logged = "LOGGED"


class RowState(StrEnum):
    """What is known about one recipient. Only `unsent` is ever picked to be sent."""

    unsent = "unsent"
    sent = "sent"
    failed = "failed"
    uncertain = "uncertain"
    suppressed = "suppressed"
    """On a suppression list, and not sent to."""


ROW_STATES: Final = {
    Kind.delivered: RowState.sent,
    Kind.failed: RowState.failed,
    Kind.rejected: RowState.failed,
    Kind.quota: RowState.unsent,
    Kind.unreachable: RowState.unsent,
    Kind.later: RowState.unsent,
    Kind.unknown: RowState.uncertain,
}
"""What is known about a recipient after an outcome."""


class Verb(StrEnum):
    """What can be done to a campaign."""

    start = "start"
    schedule = "schedule"
    stop = "stop"
    resume = "resume"
    retry = "retry"
    cancel = "cancel"
    halt = "halt"
    finish = "finish"
    change = "change"


C, J = CampaignState, JobState
MOVES: Final[dict[Verb, tuple[frozenset[CampaignState], CampaignState]]] = {
    Verb.start: (frozenset((C.draft, C.scheduled)), C.running),
    Verb.schedule: (frozenset((C.draft, C.scheduled)), C.scheduled),
    Verb.stop: (frozenset((C.scheduled, C.running)), C.stopped),
    Verb.resume: (frozenset((C.stopped, C.halted, C.done)), C.running),
    Verb.retry: (frozenset((C.stopped, C.halted, C.done)), C.running),
    Verb.cancel: (frozenset(C) - {C.done, C.cancelled}, C.cancelled),
    Verb.halt: (frozenset((C.running,)), C.halted),
    Verb.finish: (frozenset((C.running,)), C.done),
    Verb.change: (frozenset((C.draft,)), C.draft),
}
"""The states from which a verb may be asked for, and the state that it leads to."""
FROM_DRAFT: Final = frozenset((Verb.start, Verb.schedule))
"""Refused while an import is under way."""

JOB_MOVES: Final[dict[Verb, tuple[frozenset[JobState], JobState]]] = {
    Verb.stop: (frozenset((J.ready, J.enqueued, J.sending, J.sent)), J.stopped),
    Verb.halt: (frozenset((J.ready, J.enqueued, J.sending, J.sent)), J.stopped),
    Verb.cancel: (frozenset((J.ready, J.enqueued, J.sending, J.sent)), J.stopped),
    Verb.resume: (frozenset((J.sent, J.stopped, J.logged)), J.ready),
    Verb.retry: (frozenset((J.sent, J.stopped, J.logged)), J.ready),
    Verb.finish: (frozenset((J.sent, J.stopped)), J.logged),
}
"""What a campaign's verb does to its jobs. A job keeps its number, which is its age."""


def check_move(state: CampaignState, verb: Verb, name: str) -> None:
    """Raise WrongState unless a verb may be used now."""
    _ = moved(state, verb, name)  # what it is then, the store decides in its transaction


def moved(state: CampaignState, verb: Verb, name: str) -> CampaignState:
    """Return the state after a verb, or raise WrongState."""
    allowed, after = MOVES[verb]
    if state not in allowed:
        may = ", ".join(sorted(allowed))
        raise WrongState(f"campaign {name!r} is {state}: `{verb}` needs one that is {may}")
    return after


ZONE_COLUMN: Final = "zone"
"""The column of a file that names each recipient's time zone."""


class HaltRule(Struct, frozen=True):
    """When a campaign stops by itself: at so many hard failures that are so large a part of all
    results."""

    failures_min: int = 10
    percent: float = 10.0


class Spec(Struct, frozen=True):
    """The templates and options of a campaign."""

    template: str
    recipient: str = "recipient"
    """The column that holds the number or URL."""
    jobs: int = 1
    halt: HaltRule = HaltRule()
    subject: str = ""
    html: str = ""
    """The HTML of a mail, beside its text."""
    attachments: tuple[Attachment, ...] = ()
    zone: str = ""
    """The recipients' time zone, unless their column `zone` names another one."""


AGAIN_MS: Final = tuple(minutes * 60_000 for minutes in (5, 15, 60, 120))
"""How long after a temporary answer a recipient is tried again. Greylisting asks for some minutes,
and forgets whom it has seen after some hours."""
AGAIN_STEP_MS: Final = 60_000
"""Next tries are due at full minutes: those who wait are read once for all that are due then."""


def again_at_ms(deferred: int, after_ms: int, now_ms: int) -> int:
    """Return when a recipient is tried again that had so many temporary answers before; 0: not."""
    if deferred >= len(AGAIN_MS):
        return 0
    at_ms = now_ms + (after_ms or AGAIN_MS[deferred])
    return -(-at_ms // AGAIN_STEP_MS) * AGAIN_STEP_MS


class Counts(Struct, frozen=True):
    """How far a campaign is. `undelivered` are sent ones of which the provider said so later;
    `suppressed` are those who were not sent to because they are on a suppression list; `temporary`
    are failed ones whose server said "later" until the last try."""

    total: int = 0
    unsent: int = 0
    sent: int = 0
    failed: int = 0
    uncertain: int = 0
    undelivered: int = 0
    suppressed: int = 0
    temporary: int = 0

    @property
    def adds_up(self) -> bool:
        """Whether every recipient is in exactly one state."""
        final = self.sent + self.failed + self.uncertain + self.suppressed
        return self.total == self.unsent + final


def must_halt(counts: Counts, rule: HaltRule) -> str:
    """Return why the campaign has to halt; empty when it may go on."""
    hard = max(0, counts.failed - counts.temporary) + counts.undelivered
    results = counts.sent + counts.failed + counts.uncertain
    if hard <= rule.failures_min or hard * 100 <= rule.percent * results:
        return ""
    return (
        f"{hard} of {results} failed, more than {rule.failures_min} and {rule.percent:g} %: "
        "look at their errors, then resume with override"
    )


class Campaign(Struct, frozen=True):
    """A campaign as stored."""

    id: int
    tenant: str
    name: str
    credential: int
    spec: Spec
    columns: tuple[str, ...]
    state: CampaignState
    reason: str
    halts: bool
    start_at_ms: int
    counts: Counts
    created_at_ms: int
    started_at_ms: int
    ended_at_ms: int


class Job(Struct, frozen=True):
    """A campaign job that is ours at an epoch."""

    id: int
    campaign: int
    epoch: int


class Row(Struct, frozen=True):
    """A recipient that waits to be sent."""

    n: int
    tries: int
    recipient: str
    fields: str
    """The cells as a JSON list, in the order of the campaign's columns."""
    due_ms: int = 0
    """After a temporary answer: not before this time."""
    deferred: int = 0
    """How many temporary answers it had."""


class CallResult(Struct, frozen=True):
    """The result of one call. `unsent`: the call was certainly not made, or was refused for now."""

    n: int
    tries: int
    state: RowState
    provider_id: str = ""
    code: str = ""
    sub_type: str = ""
    error: str = ""
    started_at_ms: int = 0
    answered_at_ms: int = 0
    due_ms: int = 0
    """After a temporary answer: when it is tried again, or, if it has failed, when it was given."""


class Recipient(Struct, frozen=True):
    """All that is known about one recipient."""

    n: int
    line: int
    recipient: str
    state: RowState
    provider_id: str
    code: str
    sub_type: str
    error: str
    sent_at_ms: int
    answered_at_ms: int
    status: str
    status_at_ms: int


class Pulse(Struct, frozen=True):
    """The answer to an owner that renews a job's lease."""

    job: int
    campaign: CampaignState
    blocked_until_ms: int
    block_reason: str


STATUSES: Final = {
    "accepted": 1,
    "scheduled": 1,
    "queued": 2,
    "sending": 3,
    "sent": 4,
    "delivered": 5,
    "undelivered": 5,
    "failed": 5,
    "canceled": 5,
    "read": 6,
    "bounced": 6,
    "complained": 7,
}
"""How far a message has come by a provider's words; a callback that says less comes late. A mail
may come back after it was delivered, and be complained about whatever was said before."""
NOT_DELIVERED: Final = frozenset(("bounced", "undelivered", "failed", "canceled"))


def earlier(status: str) -> list[str]:
    """Return the statuses that this one may replace."""
    return ["", *(one for one, rank in STATUSES.items() if rank < STATUSES[status])]
