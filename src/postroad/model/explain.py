"""Explains what happened to a message, what holds it, and what comes next. It does no I/O."""

from typing import Final

from msgspec import Struct

from postroad.model.block import Block
from postroad.model.circuit import CLOSED, Circuit
from postroad.model.entities import Policy
from postroad.model.facts import (
    BY_HAND,
    LaneFacts,
    LaneState,
    LaneWindow,
    MessageFacts,
    Owner,
    PaceFacts,
    QueueFacts,
    Tally,
)
from postroad.model.holds import because_of, because_of_all, because_of_lane
from postroad.model.ids import to_text
from postroad.model.mail_report import NotedReport
from postroad.model.next_step import (
    AWAY,
    ENDS,
    LATE_MS,
    PACE,
    RULED,
    TO_READ,
    WAITS_FOR,
    ActiveBlock,
    BlockScope,
    NextKind,
    NextStep,
    blocks_by_limits,
    blocks_on_lane,
    blocks_on_message,
    blocks_on_queue,
    is_feed,
    is_last,
    next_step,
    overdue,
)
from postroad.model.sentences import tell_lane, tell_message, tell_queue
from postroad.model.states import NEVER, DeadReason, State
from postroad.model.tries import Try


class MessageView(Struct, frozen=True):
    """Where a message is."""

    id: str
    tenant: str
    queue: str
    recipient: str
    """Whom the message itself names: a number, a mail address; else empty."""
    state: State
    reason: DeadReason | None
    because: str
    """What holds it; never empty when it is held."""
    level: int
    retries: int
    """The last level of its ladder."""
    accepted_at_ms: int
    finished_at_ms: int | None
    expires_at_ms: int | None
    lane: int | None
    tries: tuple[Try, ...]
    reports: tuple[NotedReport, ...]
    """What came back about it: bounces and complaints."""
    next: NextStep


class Explanation(MessageView, frozen=True):
    """The explanation of a message: fields for programs, and `sentence` for people."""

    late: bool
    """The message was dead when its delivery was proven."""
    blocks: tuple[ActiveBlock, ...]
    circuit: Circuit
    sentence: str


class LaneBrief(Struct, frozen=True):
    """A lane of a queue: its number, its server, and its owner."""

    id: int
    transport: str
    server: str
    shard: int
    circuit: Circuit
    owner: Owner | None


class QueueExplanation(Struct, frozen=True):
    """The explanation of a queue: what waits and what is held by level, each counted up to 10,000,
    and its limits."""

    tenant: str
    queue: str
    paused: bool
    waiting: dict[int, int]
    held: dict[int, int]
    because: str
    """What holds them; never empty while some are held."""
    uncertain: int
    dead: int
    oldest_due_ms: int | None
    blocks: tuple[ActiveBlock, ...]
    lanes: tuple[LaneBrief, ...]
    limits: tuple[PaceFacts, ...]
    policy: Policy
    next: NextStep
    sentence: str


class LaneExplanation(Struct, frozen=True):
    """The explanation of a lane: what waits and what is held by level, each counted up to 10,000,
    and its owner."""

    lane: LaneBrief
    tenant: str
    paused: bool
    queues: int
    waiting: dict[int, int]
    held: dict[int, int]
    because: str
    """What holds them; never empty while some are held."""
    uncertain: int
    oldest_due_ms: int | None
    blocks: tuple[ActiveBlock, ...]
    limits: tuple[PaceFacts, ...]
    next: NextStep
    sentence: str
    window: LaneWindow | None = None
    """Of a lane that the process serves which answers; others know of theirs."""


def explain(facts: MessageFacts, now_ms: int, *, sending: bool = False) -> Explanation:
    """Explain a message. `sending`: a try of it is under way."""
    holds = blocks_on_message(facts, now_ms)
    because = "" if sending else _because(facts, now_ms)
    state = _state(facts, because, sending=sending)
    coming = next_step(facts, holds, now_ms, sending=sending)
    live, ended = facts.live, facts.ended
    return Explanation(
        id=to_text(facts.id),
        tenant=facts.queue.tenant,
        queue=facts.queue.name,
        recipient=facts.recipient,
        state=state,
        reason=ended.reason if ended else None,
        late=bool(ended and ended.late),
        because=because,
        level=live.level if live else ended.level if ended else 0,
        retries=facts.queue.policy.ladder.retries,
        accepted_at_ms=facts.accepted_at_ms,
        finished_at_ms=ended.at_ms if ended else None,
        expires_at_ms=live.expires_at_ms if live and live.expires_at_ms < NEVER else None,
        tries=facts.tries,
        reports=facts.reports,
        blocks=tuple(holds),
        circuit=facts.lane.circuit if facts.lane else CLOSED,
        lane=facts.lane.id if facts.lane else None,
        next=coming,
        sentence=tell_message(facts, state, because, coming, now_ms),
    )


def _state(facts: MessageFacts, because: str, *, sending: bool) -> State:
    live = facts.live
    if live is None:
        return facts.ended.state if facts.ended else State.waiting
    if live.uncertain:
        return State.uncertain
    if sending:
        return State.sending
    return State.held if because else State.waiting


def _because(facts: MessageFacts, now_ms: int) -> str:
    live, lane = facts.live, facts.lane
    if live is None or live.uncertain:
        return ""
    if live.held:
        return f"head {live.held}"
    paused = lane is not None and lane.paused_at_ms > 0
    circuit = lane.circuit if lane else CLOSED
    return _paused(facts) or because_of(facts.queue, now_ms, lane_paused=paused, circuit=circuit)


def _paused(facts: MessageFacts | QueueFacts) -> str:
    """Say what has paused a queue, if it was no hand."""
    known = facts.queue.paused and facts.pause is not BY_HAND
    return facts.pause.reason if known else ""


HEADS_HOLD: Final = (
    "the heads of its order groups are exhausted, and hold them until somebody replays or cancels "
    "them"
)
LANES_HOLD: Final = (
    "its lanes, or exhausted heads of its order groups, hold all of it: explain a message"
)
QUEUES_HOLD: Final = "its queues, or exhausted heads of order groups, hold all of it: explain them"


def explain_queue(facts: QueueFacts, now_ms: int, *, sending: int = 0) -> QueueExplanation:
    """Explain a queue, of whose waiting messages so many are being tried by this process."""
    holds = blocks_on_queue(facts, now_ms)
    on_lanes = [blocks_on_lane(lane) for lane in facts.lanes]
    shared = [on_lane for on_lane in on_lanes if on_lane]
    if shared and len(shared) == len(facts.lanes):
        holds += shared[0]  # what holds all its lanes holds the queue
    holds += blocks_by_limits(facts.paces, now_ms)
    many = _Many(facts.tallies, facts.lanes, LANES_HOLD if shared else HEADS_HOLD)
    coming = _next_step(many, holds, now_ms, facts.queue.block)
    if sending and sending >= sum(t.count for t in many.tallies if t.state is not State.uncertain):
        coming = NextStep(NextKind.answer, "all that waits is being tried")
    return QueueExplanation(
        tenant=facts.queue.tenant,
        queue=facts.queue.name,
        paused=facts.queue.paused,
        waiting=_by_level(facts.tallies, State.waiting),
        held=_by_level(facts.tallies, State.held),
        because=_paused(facts)
        or because_of_all(tally.because for tally in facts.tallies)
        or because_of(facts.queue, now_ms),
        uncertain=sum(_by_level(facts.tallies, State.uncertain).values()),
        dead=facts.dead,
        oldest_due_ms=_oldest_due_ms(facts.tallies),
        blocks=tuple(holds),
        lanes=tuple(_brief(lane) for lane in facts.lanes),
        limits=facts.paces,
        policy=facts.queue.policy,
        next=coming,
        sentence=tell_queue(facts, holds, coming, now_ms, sending),
    )


def explain_lane(
    facts: LaneFacts, now_ms: int, window: LaneWindow | None = None
) -> LaneExplanation:
    """Explain a lane; with its `window` where that is known."""
    holds = blocks_on_lane(facts.lane) + blocks_by_limits(facts.paces, now_ms)
    many = _Many(facts.tallies, (facts.lane,), QUEUES_HOLD, "it")
    coming = _next_step(many, holds, now_ms)
    return LaneExplanation(
        lane=_brief(facts.lane),
        tenant=facts.lane.tenant,
        paused=facts.lane.paused_at_ms > 0,
        queues=facts.queues,
        waiting=_by_level(facts.tallies, State.waiting),
        held=_by_level(facts.tallies, State.held),
        because=because_of_all(tally.because for tally in facts.tallies)
        or because_of_lane(paused=facts.lane.paused_at_ms > 0, circuit=facts.lane.circuit),
        uncertain=sum(_by_level(facts.tallies, State.uncertain).values()),
        oldest_due_ms=_oldest_due_ms(facts.tallies),
        blocks=tuple(holds),
        limits=facts.paces,
        next=coming,
        sentence=tell_lane(facts, holds, coming, now_ms),
        window=window,
    )


class _Many(Struct, frozen=True):
    """The messages of a queue or a lane."""

    tallies: tuple[Tally, ...]
    lanes: tuple[LaneState, ...]
    stuck: str
    """What holds them when nothing holds all of them."""
    the_lane: str = "its lane"


def _next_step(
    many: _Many, holds: list[ActiveBlock], now_ms: int, block: Block | None = None
) -> NextStep:
    """When the first of many may start; never exact, since each has its own blocks. `block` is the
    queue's, also after its time."""
    if _oldest_due_ms(many.tallies) is None:
        return NextStep(NextKind.nothing, "nothing waits")
    stopped = [hold for hold in holds if hold.until_ms is None]
    if stopped:
        return NextStep(NextKind.held, WAITS_FOR[stopped[0].kind])
    free = tuple(tally for tally in many.tallies if tally.state is State.waiting)
    oldest_ms = _oldest_due_ms(free or (many.tallies if holds else ()))
    if oldest_ms is None:
        return NextStep(NextKind.held, many.stuck)
    if is_feed(many.lanes[0] if many.lanes else None):
        return NextStep(NextKind.read, TO_READ, max(now_ms, oldest_ms))
    ends = [hold.until_ms for hold in holds if hold.until_ms is not None]
    not_before_ms = max([now_ms, oldest_ms, *ends])
    for place in (AWAY, RULED):
        if not is_last(block, holds) and any((hold.scope, hold.kind) == place for hold in holds):
            return NextStep(NextKind.probe, ENDS[place], not_before_ms)
    if block is not None:
        return NextStep(NextKind.probe, ENDS[(BlockScope.queue, block.kind)], not_before_ms)
    if any(hold.kind == PACE for hold in holds):
        return NextStep(NextKind.attempt, ENDS[(BlockScope.queue, PACE)], not_before_ms)
    if now_ms - oldest_ms >= LATE_MS:
        first = min(free, key=lambda tally: tally.oldest_due_ms)
        lane = next((lane for lane in many.lanes if lane.id == first.lane), None)
        return overdue(lane, now_ms, "its first message", many.the_lane)
    return NextStep(NextKind.attempt, "the first of its messages is due then", not_before_ms)


def _by_level(tallies: tuple[Tally, ...], state: State) -> dict[int, int]:
    found: dict[int, int] = {}
    for tally in tallies:
        if tally.state is state:
            found[tally.level] = found.get(tally.level, 0) + tally.count
    return dict(sorted(found.items()))


def _oldest_due_ms(tallies: tuple[Tally, ...]) -> int | None:
    live = [tally for tally in tallies if tally.state is not State.uncertain]
    return min((tally.oldest_due_ms for tally in live), default=None)


def _brief(lane: LaneState) -> LaneBrief:
    return LaneBrief(lane.id, lane.transport, lane.server, lane.shard, lane.circuit, lane.owner)
