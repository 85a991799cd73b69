"""Explanations in sentences. Bodies, headers, errors and what may be secret in an address stay out
of them: a sentence is what gets pasted into a chat."""

from typing import Final

from postroad.model.block import BlockKind
from postroad.model.facts import COUNTED_MAX, LaneFacts, MessageFacts, QueueFacts, Tally
from postroad.model.ids import to_text
from postroad.model.next_step import (
    HELD,
    PACE,
    SILENT_MS,
    ActiveBlock,
    BlockScope,
    NextKind,
    NextStep,
    is_feed,
)
from postroad.model.outcome import Kind
from postroad.model.states import State
from postroad.model.tries import Try
from postroad.model.wording import duration_text, moment, public_name


def tell_message(
    facts: MessageFacts, state: State, because: str, coming: NextStep, now_ms: int
) -> str:
    """Describe a message in a sentence or two, with the kind of what holds it."""
    whom = f"{facts.recipient} by " if facts.recipient else ""
    name = f"{to_text(facts.id)} for {whom}{public_name(facts.queue.name)}"
    ended = facts.ended
    if ended is not None:
        tries = _count(ended.attempts, "try", "tries")
        if ended.state is State.delivered:
            late = " (after it had been given up)" if ended.late else ""
            status = facts.tries[-1].status if facts.tries else 0
            seen = f", with status {status}" if status else ""
            sent = f"{name} was delivered at {moment(ended.at_ms)}, in {tries}{seen}{late}."
            return sent + _came_back(facts)
        if ended.state is State.dead:
            return f"{name} is dead since {moment(ended.at_ms)}: {ended.reason}, after {tries}."
        return f"{name} was cancelled at {moment(ended.at_ms)}, after {tries}."
    why = f": {because.partition(':')[0]}" if because else ""
    return f"{name} is {state}{why}. {_tried(facts)} {_next(coming, now_ms)}"


def _came_back(facts: MessageFacts) -> str:
    """What was reported last."""
    if not facts.reports:
        return ""
    last = facts.reports[-1]
    code = f" ({last.code})" if last.code else ""
    return f" Reported at {moment(last.at_ms)}: {last.kind}{code}."


def tell_queue(
    facts: QueueFacts, holds: list[ActiveBlock], coming: NextStep, now_ms: int, sending: int
) -> str:
    """Describe a queue's state."""
    name = f"Queue {public_name(facts.queue.name)}"
    held = _held(holds, now_ms)
    if sending:
        tries = _count(sending, "try is", "tries are")
        held += f" {tries} under way in the process that answers."
    return f"{name} has {_amounts(facts.tallies)}, {facts.dead} dead.{held} {_next(coming, now_ms)}"


def tell_lane(facts: LaneFacts, holds: list[ActiveBlock], coming: NextStep, now_ms: int) -> str:
    """Describe a lane's state."""
    lane = facts.lane
    owner = lane.owner
    served = f"served by process {owner.pid} on {owner.host}" if owner else "served by nobody now"
    if owner and now_ms - owner.heard_at_ms > SILENT_MS:
        served += f" (last heard from at {moment(owner.heard_at_ms)})"
    queues = _count(facts.queues, "queue", "queues")
    name = f"Lane {lane.id} ({lane.transport}, {public_name(lane.server)}, shard {lane.shard})"
    amounts, held = _amounts(facts.tallies), _held(holds, now_ms)
    return f"{name}, {served}, has {queues} with {amounts}.{held} {_next(coming, now_ms)}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _tried(facts: MessageFacts) -> str:
    if facts.live and facts.live.starts:
        if is_feed(facts.lane):
            return "It was read, and is not acked."
        return "A try of it was started whose end is not known."
    if not facts.tries:
        return "No try of it has ended yet."
    last, block = facts.tries[-1], facts.queue.block
    ours = block is not None and block.kind is BlockKind.setup and last.outcome is Kind.quota
    return _last(last, "nothing was sent" if ours else last.outcome)


def _last(last: Try, outcome: str) -> str:
    status = f" ({last.status})" if last.status else ""
    when = f" at {moment(last.started_at_ms)}" if last.started_at_ms else ""
    return f"Try {last.number}{when}, at level {last.level}: {outcome}{status}."


def _next(coming: NextStep, now_ms: int) -> str:
    when = ""
    if coming.not_before_ms is not None:
        wait_ms = coming.not_before_ms - now_ms
        word = "at" if coming.exact or coming.what is NextKind.expire else "not before"
        when = (
            f" {word} {moment(coming.not_before_ms)}, in {duration_text(wait_ms)}"
            if wait_ms > 0
            else ""
        )
    match coming.what:
        case NextKind.attempt:
            now = " at once" if coming.exact else " as soon as it can be"
            return f"It is tried{when or now}: {coming.why}."
        case NextKind.probe:
            return f"Its next try comes{when or ' soon'}: {coming.why}."
        case NextKind.read:
            return f"It can be read{when or ' now'}: {coming.why}."
        case NextKind.after:
            return f"It goes after {coming.after}{when}: {coming.why}."
        case NextKind.expire:
            return f"It expires{when or ' now'}: {coming.why}."
        case NextKind.answer:
            return f"{coming.why[0].upper()}{coming.why[1:]}; its answer decides."
        case NextKind.held | NextKind.nothing:
            return f"Nothing will happen by itself: {coming.why}."


def _amounts(tallies: tuple[Tally, ...]) -> str:
    counts = {
        state: sum(t.count for t in tallies if t.state is state)
        for state in (State.waiting, State.held, State.uncertain)
    }
    return ", ".join(
        f"{'at least ' if count >= COUNTED_MAX else ''}{count} {state}"
        for state, count in counts.items()
    )


def _held(holds: list[ActiveBlock], now_ms: int) -> str:
    """What holds a queue or a lane, by the words of `because`, and which limits are used up."""
    words, limits = [], ""
    for hold in holds:
        if hold.kind == PACE:
            limits += f" A limit is used up for now: {hold.reason}."
            continue
        ends = hold.until_ms is not None and hold.until_ms > now_ms
        until = f" until {moment(hold.until_ms or 0)}" if ends else ""
        words.append(f"{LANE_WORDS.get((hold.scope, hold.kind), hold.kind)}{until}")
    return (f" Held: {', '.join(words)}." if words else "") + limits


LANE_WORDS: Final = {
    (BlockScope.lane, "paused"): "lane paused",
    (BlockScope.lane, "unreachable"): "circuit open",
    (BlockScope.lane, HELD): "lane held",
}
