"""Which blocks apply to a message, and what happens to it next if nothing else changes."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.model.block import BACKOFFS, Block, BlockKind
from postroad.model.endpoint import FEED
from postroad.model.facts import LaneState, Live, MessageFacts, PaceFacts, QueueFacts
from postroad.model.hours import OUTSIDE, OpenHours
from postroad.model.ids import to_text
from postroad.model.limits import Tuning
from postroad.model.outcome import Kind
from postroad.model.states import NEVER
from postroad.model.wording import moment

SWEEP_LATE_MS: Final = 600_000
"""A message that outlived a spell is found by a sweep no later than this."""
LATE_MS: Final = 1_000
"""What is due for longer and has not started waits for something that the store does not know."""
SILENT_MS: Final = 15_000
"""An owner says every 10 s that it is here: after this long it may be dead."""
LEASE_MS: Final = Tuning().lease_ms
"""After this long without a sign of life its lanes are free."""


PACE: Final = "pace"
HOURS: Final = "hours"
HELD: Final = "held"
ENDPOINT: Final = "endpoint"
BEING_DELETED: Final = "deleting"
LEASED: Final = "leased"
ROAD_HELD: Final = "road_held"


class BlockScope(StrEnum):
    """Whether a block is on a message, a queue or a lane."""

    message = "message"
    queue = "queue"
    lane = "lane"


class ActiveBlock(Struct, frozen=True):
    """A block that applies now. `until_ms` None: until somebody, or another message, ends it."""

    scope: BlockScope
    kind: str
    """retry, scheduled, later, order, leased, pace, hours, held, endpoint, deleting; or a
    BlockKind."""
    reason: str
    since_ms: int
    until_ms: int | None


class NextKind(StrEnum):
    """What comes next."""

    attempt = "try"
    probe = "probe"
    """One try of the lane or queue goes first and decides about the others."""
    answer = "answer"
    """A try is under way; its answer decides."""
    after = "after"
    """The message goes when the one before it in its order group is finished."""
    held = "held"
    """Nothing happens, until somebody resumes, unblocks, replays or cancels."""
    read = "read"
    """The message's recipient reads it from its feed."""
    expire = "expire"
    """The message expires without a try."""
    nothing = "nothing"


class NextStep(Struct, frozen=True):
    """What will happen, if nobody does anything. No try starts before `not_before_ms` (None: no
    such time is known), unless a block is lifted, or new messages for a server that is away advance
    its probe. `exact`: one starts then, given an engine that serves the lane and has capacity."""

    what: NextKind
    why: str
    not_before_ms: int | None = None
    exact: bool = False
    after: str = ""
    """The message before it in its order group."""
    lane_free_at_ms: int | None = None
    """When others may take its lane, should the process that serves it be lost."""


def blocks_on_message(facts: MessageFacts, now_ms: int) -> list[ActiveBlock]:
    """List every block that applies to an unfinished message."""
    live = facts.live
    if live is None or live.uncertain:
        return []
    found: list[ActiveBlock] = []
    if live.due_ms > now_ms:
        found.append(_wait(facts, live))
    if live.before:
        why = f"{to_text(live.before)} of its order group goes first"
        found.append(ActiveBlock(BlockScope.message, "order", why, facts.accepted_at_ms, None))
    elif live.held:
        since_ms = _last_ended_ms(facts)
        found.append(
            ActiveBlock(BlockScope.message, BlockKind.exhausted_head, live.held, since_ms, None)
        )
    found += blocks_on_queue(facts, now_ms)
    found += blocks_on_lane(facts.lane) if facts.lane else []
    return found + (blocks_by_limits(facts.paces, now_ms) if live.due_ms <= now_ms else [])


def blocks_by_limits(paces: tuple[PaceFacts, ...], now_ms: int) -> list[ActiveBlock]:
    """List the limits that are used up for the moment. Until when is known only of long windows: a
    rate slot that is reserved already may be for this very message."""
    found = [
        ActiveBlock(
            BlockScope.lane if pace.shared else BlockScope.queue,
            PACE,
            f"no more than {pace.limit}" + _called(pace),
            now_ms,
            max(now_ms, pace.full_until_ms),
        )
        for pace in paces
        if max(pace.taken_until_ms, pace.full_until_ms) > now_ms
    ]
    return found + [closing for pace in paces if (closing := _closed(pace, now_ms))]


def _closed(pace: PaceFacts, now_ms: int) -> ActiveBlock | None:
    """Return the block by a limit outside its hours. A message's own zone may differ: its own wait
    says so."""
    if not pace.hours:
        return None
    opens_ms = OpenHours(pace.hours, pace.zone).opens_at_ms(now_ms)
    why = f"only {pace.hours} {pace.zone}" + _called(pace)
    scope = BlockScope.lane if pace.shared else BlockScope.queue
    return ActiveBlock(scope, HOURS, why, now_ms, opens_ms) if opens_ms > now_ms else None


def _called(pace: PaceFacts) -> str:
    return f", limit {pace.name!r}" if pace.name else ""


def _wait(facts: MessageFacts, live: Live) -> ActiveBlock:
    last = facts.tries[-1] if facts.tries else None
    if live.starts and is_feed(facts.lane):
        since_ms = facts.accepted_at_ms
        return ActiveBlock(BlockScope.message, LEASED, "", since_ms, live.due_ms)
    if last is None:
        return ActiveBlock(BlockScope.message, "scheduled", "", facts.accepted_at_ms, live.due_ms)
    kind = "later" if last.outcome is Kind.later else "retry"
    kind = HOURS if last.error.startswith(OUTSIDE) else kind
    return ActiveBlock(BlockScope.message, kind, last.error, _last_ended_ms(facts), live.due_ms)


def _last_ended_ms(facts: MessageFacts) -> int:
    last = facts.tries[-1] if facts.tries else None
    return last.started_at_ms + last.took_ms if last else facts.accepted_at_ms


def blocks_on_queue(facts: MessageFacts | QueueFacts, now_ms: int) -> list[ActiveBlock]:
    """List the blocks on a queue."""
    found: list[ActiveBlock] = []
    queue, why = facts.queue, facts.pause
    if queue.paused:
        found.append(ActiveBlock(BlockScope.queue, why.kind, why.reason, facts.paused_at_ms, None))
    block = queue.block
    if block is not None and block.until_ms > now_ms:
        until_ms = None if block.until_ms >= NEVER else block.until_ms
        found.append(
            ActiveBlock(BlockScope.queue, block.kind, block.reason, block.since_ms, until_ms)
        )
    return found


def blocks_on_lane(lane: LaneState) -> list[ActiveBlock]:
    """List the blocks on a lane. An open circuit is one even after its time: a probe decides."""
    found: list[ActiveBlock] = []
    if lane.paused_at_ms:
        reason = "paused by hand"
        found.append(
            ActiveBlock(BlockScope.lane, BlockKind.paused, reason, lane.paused_at_ms, None)
        )
    circuit = lane.circuit
    if circuit.is_open:
        kind, reason = HELD if circuit.is_held else BlockKind.unreachable, circuit.reason
        found.append(ActiveBlock(BlockScope.lane, kind, reason, circuit.since_ms, circuit.until_ms))
    return found


def next_step(
    facts: MessageFacts, holds: list[ActiveBlock], now_ms: int, *, sending: bool
) -> NextStep:
    """Say what will happen to a message."""
    live = facts.live
    if live is None:
        return NextStep(NextKind.nothing, "it is finished")
    if live.uncertain:
        why = (
            "it may have been delivered, and its queue wants no second try after doubt: settle it "
            "as sent or as unsent, or cancel it"
        )
        return NextStep(NextKind.nothing, why)
    if sending:
        return NextStep(NextKind.answer, _under_way(facts))
    ends = [hold.until_ms for hold in holds if hold.until_ms is not None]
    not_before_ms = max([now_ms, *ends])
    stopped = [hold for hold in holds if hold.until_ms is None and hold.kind != "order"]
    group_held = bool(live.before and live.held)
    dies_at_ms = _dies_at_ms(facts, live)
    if dies_at_ms < NEVER and (stopped or dies_at_ms <= not_before_ms):
        own = dies_at_ms == live.expires_at_ms
        why = "its deadline comes first" if own else "it outlives the time that its queue allows"
        return NextStep(NextKind.expire, why, dies_at_ms)
    if stopped:
        return NextStep(NextKind.held, WAITS_FOR[stopped[0].kind])
    if live.before:
        why = GROUP_HELD if group_held else "messages of one order group go in order of acceptance"
        when_ms = None if group_held else not_before_ms
        return NextStep(NextKind.after, why, when_ms, after=to_text(live.before))
    if is_feed(facts.lane):
        return NextStep(NextKind.read, ENDS_READ if live.starts else TO_READ, not_before_ms)
    return _attempt(facts, live, holds, not_before_ms, now_ms)


def _under_way(facts: MessageFacts) -> str:
    """Say where a try is made, and how far it has come."""
    why, owner = "a try is under way", facts.lane.owner if facts.lane else None
    if owner is not None:
        why += f" in process {owner.pid} on {owner.host}"
    if facts.running is not None:
        of_total = f" of {facts.running.total:g}" if facts.running.total else ""
        done = f"{facts.running.done:g}{of_total}"
        why += f", which said at {moment(facts.running.at_ms)} that {done} is done"
    return why


TO_READ: Final = "its recipient is not called, and reads it from the feed of its endpoint"
ENDS_READ: Final = "it was read, and comes again unless it is acked within its lease"


def is_feed(lane: LaneState | None) -> bool:
    """Whether a lane is read, and not sent from."""
    return lane is not None and lane.transport == FEED


WAITS_FOR: Final[dict[str, str]] = {
    BlockKind.paused: "it waits until somebody resumes what is paused",
    ENDPOINT: "it is held until its endpoint is enabled, for as long as the endpoint's rules say",
    BEING_DELETED: "it is cancelled with its endpoint, which is being deleted",
    ROAD_HELD: "nothing of this road runs until `postroad store release`",
    BlockKind.disabled: "it is disabled until somebody unblocks the queue",
    BlockKind.exhausted_head: "its ladder is spent, and it holds its order group until somebody "
    "replays or cancels it",
}
GROUP_HELD: Final = (
    "the head of its order group is exhausted and holds it until somebody replays or cancels"
)


def _attempt(
    facts: MessageFacts, live: Live, holds: list[ActiveBlock], not_before_ms: int, now_ms: int
) -> NextStep:
    last = max(holds, key=lambda hold: hold.until_ms or 0, default=None)
    why = "it is due" if last is None else ENDS.get((last.scope, last.kind), "its wait ends then")
    lane, block = facts.lane, facts.queue.block
    if lane and lane.circuit.is_open and not is_last(block, holds):
        # Its success lifts the queue's `unreachable` block too, before that one's own end.
        lifts = block is not None and block.kind is BlockKind.unreachable
        first_ms = max(now_ms, live.due_ms, lane.circuit.until_ms)
        why = ENDS[RULED if lane.circuit.is_held else AWAY]
        return NextStep(NextKind.probe, why, first_ms if lifts else not_before_ms)
    if block is not None:
        return NextStep(NextKind.probe, ENDS[(BlockScope.queue, block.kind)], not_before_ms)
    exact = _is_exact(facts, live, now_ms)
    if not exact and not_before_ms <= now_ms and not facts.paces:
        return overdue(lane, now_ms)
    if any(hold.kind == PACE for hold in holds):
        why = ENDS[(BlockScope.queue, PACE)]
    elif not_before_ms <= now_ms and (lane is None or lane.owner is None):
        why = "it is due, and goes when a worker takes its lane"
    elif live.others_due:
        others = "1 other" if live.others_due == 1 else f"{live.others_due} others"
        why += f"; {others} of its lane {'is' if live.others_due == 1 else 'are'} due by then"
    return NextStep(NextKind.attempt, why, not_before_ms, exact)


def is_last(block: Block | None, holds: list[ActiveBlock]) -> bool:
    """Whether a queue's own block ends last: then its reason is told with that end. One of an
    unreachable server ends with the lane's circuit."""
    last = max(holds, key=lambda hold: hold.until_ms or 0, default=None)
    if block is None or last is None or block.kind is BlockKind.unreachable:
        return False
    return (last.scope, last.kind) == (BlockScope.queue, block.kind)


def overdue(
    lane: LaneState | None, now_ms: int, what: str = "it", the_lane: str = "its lane"
) -> NextStep:
    """Say what a message waits for that is due, and that nothing known to the store holds."""
    owner = lane.owner if lane else None
    if owner is None:
        why = f"{what} is due, and no worker serves {the_lane} now: start one that can"
        return NextStep(NextKind.attempt, why, now_ms)
    free_at_ms, heard = owner.heard_at_ms + LEASE_MS, moment(owner.heard_at_ms)
    name = f"process {owner.pid} on {owner.host}"
    if free_at_ms <= now_ms:
        why = (
            f"{the_lane} was served by {name}, which was last heard from at {heard}: the next "
            "worker takes it over, once one runs"
        )
    elif now_ms - owner.heard_at_ms > SILENT_MS:
        why = (
            f"{the_lane} is served by {name}, which was last heard from at {heard} and may be "
            f"lost: then {the_lane} is free at {moment(free_at_ms)}"
        )
    else:
        why = (
            f"{what} is due, and {name}, which serves {the_lane}, tries it now or as soon as it "
            f"has room; should that process be lost, {the_lane} is free at {moment(free_at_ms)}"
        )
    return NextStep(NextKind.attempt, why, now_ms, lane_free_at_ms=free_at_ms)


AWAY: Final = (BlockScope.lane, "unreachable")
RULED: Final = (BlockScope.lane, HELD)
ENDS: Final = {
    RULED: "an answer rule holds its lane: then one try goes first and decides",
    AWAY: "its server cannot be reached: one probe an interval goes out and decides, sooner when "
    "new messages come",
    (
        BlockScope.queue,
        "quota",
    ): "its recipient is over its quota for now: then one try goes first and decides",
    (BlockScope.queue, "setup"): "something is missing on our side, as its reason says: then one "
    "try goes first and decides",
    (BlockScope.queue, "rule"): "an answer rule holds it: then one try goes first and decides",
    (BlockScope.queue, "handler"): "its handler holds it: then one try goes first and decides",
    (BlockScope.queue, "unreachable"): "its recipient cannot be reached: then one try goes first",
    (BlockScope.queue, PACE): "it is due, and goes when its limit has a rate slot for it",
    (BlockScope.message, "retry"): "the delay of its retry level ends then",
    (BlockScope.message, "scheduled"): "its sender asked for that time",
    (BlockScope.message, "later"): "its last try asked for that time",
    (BlockScope.message, HOURS): "its allowed hours begin then",
    (BlockScope.queue, HOURS): "its allowed hours begin then",
    (BlockScope.lane, HOURS): "its allowed hours begin then",
}


def _is_exact(facts: MessageFacts, live: Live, now_ms: int) -> bool:
    """Whether nothing that is known can delay its try: nobody else is due, nothing has gone
    wrong, and it does not wait for something that only its engine knows."""
    lane, last = facts.lane, facts.tries[-1] if facts.tries else None
    if lane is None or lane.crashes or live.others_due or facts.paces:
        return False
    if lane.owner and now_ms - lane.owner.heard_at_ms > SILENT_MS:
        return False
    if live.due_ms > now_ms:
        return True
    tried_in_place = last is not None and last.outcome is Kind.unreachable
    return now_ms - live.due_ms < LATE_MS and not tried_in_place


def _dies_at_ms(facts: MessageFacts, live: Live) -> int:
    """Return when it expires: by its own deadline, or by a spell that it will have outlived."""
    at_ms, queue, lane = live.expires_at_ms, facts.queue, facts.lane
    if queue.paused:
        return at_ms
    policy, block, from_ms = queue.policy, queue.block, max(facts.accepted_at_ms, live.due_ms)
    if block and block.kind in BACKOFFS:
        away = block.kind is BlockKind.unreachable
        ttl_ms = policy.unreachable_ttl_ms if away else policy.quota_ttl_ms
        at_ms = min(at_ms, max(from_ms, block.since_ms) + ttl_ms + SWEEP_LATE_MS)
    if lane and lane.circuit.is_open and not lane.paused_at_ms:
        since_ms = max(from_ms, lane.circuit.since_ms)
        at_ms = min(at_ms, since_ms + policy.unreachable_ttl_ms + SWEEP_LATE_MS)
    return at_ms
