"""Planning a batch: which messages and batches are stored, and what waits for what."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.engine.drafting import Send, as_send
from postroad.model.batch import (
    DEPTH_MAX,
    FOLLOWERS_MAX,
    MEMBERS_MAX,
    NESTED_MAX,
    BatchPlan,
    BatchRow,
    BatchState,
    CyclicBatch,
    FollowRole,
    HeldDraft,
    marked,
)
from postroad.model.durations import seconds_of
from postroad.model.entities import DEFAULT_TENANT, Draft
from postroad.model.errors import BadInput
from postroad.verbs.sending import Sending

SLICE: Final = 2_000
"""Members that one transaction stores; a batch of more is open when the last slice is stored."""
Step = object
"""A Send, a pair of queue and body, or a Batch."""
Place = tuple[int, FollowRole | None]
"""Whose end releases a message or batch, and which end; 0 is none: at once."""
Path = tuple[int, ...]
"""The batches around one."""


class Batch(Struct, frozen=True):
    """Messages, or batches, that are sent together. When all have ended, `then` is sent; if some
    were not delivered and there is an `on_failure`, that instead."""

    members: Sequence[Step]
    then: Step | None = None
    on_failure: Step | None = None
    stops: bool = False
    """Without an `on_failure`, nothing follows a failure."""


def chain(steps: Sequence[Step], on_failure: Step | None = None) -> Batch:
    """Make a batch of messages that are sent one after the other: each when the one before was
    delivered. After a failure `on_failure` is sent, and no further step."""
    if not steps:
        raise BadInput("a chain without steps: give at least one message")
    if len(steps) > DEPTH_MAX:
        raise BadInput(f"a chain of {len(steps)} steps: at most {DEPTH_MAX}")
    *first, last = steps
    following = Batch([last], on_failure=on_failure, stops=True)
    for step in reversed(first):
        following = Batch([step], following, on_failure, stops=True)
    return following


class Planned(Struct):
    """A message of a batch: its batch, or whose end it follows, and how."""

    send: Send
    batch: int = 0
    after: int = 0
    role: FollowRole | None = None
    follows: tuple[int, FollowRole] | None = None
    """The batch that names its id as what follows."""


class BatchPlanner:
    """Walks over a batch and those nested in it: numbers them, and lists their messages."""

    def __init__(self, sending: Sending, tenant: str, now_ms: int) -> None:
        self._sending, self._tenant, self._now_ms = sending, tenant, now_ms
        self.rows: dict[int, BatchRow] = {}
        self.planned: list[Planned] = []
        self.members: list[tuple[int, int]] = []
        self._followers = 0

    def add(self, batch: Batch, parent: int, place: Place, within: Path) -> int:
        """Plan a batch; returns its number. `place`: whose end releases it, and which. What is too
        much is refused on the way: few steps that share what follows make very many."""
        if len(self.rows) >= NESTED_MAX:
            raise BadInput(f"more than {NESTED_MAX} batches and steps in one: send several")
        if id(batch) in within or len(within) > DEPTH_MAX:
            raise CyclicBatch(
                "a batch contains itself: make another Batch(…) for each place"
                if id(batch) in within
                else f"batches are nested more than {DEPTH_MAX} deep: send inner ones on their own"
            )
        number = self._sending.ids.next(self._now_ms)
        after, role = place
        members = listed(batch.members)
        state = BatchState.waiting if after else BatchState.open
        self.rows[number] = BatchRow(
            number,
            self._tenant,
            parent,
            after,
            role.value if role else "",
            state,
            len(members),
            0,
            0,
            batch.stops,
            self._now_ms,
        )
        inside = (*within, id(batch))
        for member in members:
            self._member(member, number, place, inside)
        self._follow(batch.then, number, FollowRole.then, inside)
        self._follow(batch.on_failure, number, FollowRole.on_failure, inside)
        return number

    def _member(self, member: Step, batch: int, place: Place, within: Path) -> None:
        if isinstance(member, Batch):
            self.members.append((self.add(member, batch, place, within), batch))
        else:
            self._plan(Planned(self._send(member), batch, *place))

    def _follow(self, step: Step | None, batch: int, role: FollowRole, within: Path) -> None:
        if step is None:
            return
        parent = self.rows[batch].parent
        if isinstance(step, Batch):
            self.named(batch, role, self.add(step, parent, (batch, role), within))
        else:
            send = self._send(step)
            self._plan(Planned(send, parent, batch, role, (batch, role)))

    def _plan(self, one: Planned) -> None:
        self._followers += bool(one.after)
        if self._followers > FOLLOWERS_MAX:
            raise BadInput(f"more than {FOLLOWERS_MAX} messages follow a batch: send several")
        if len(self.planned) >= MEMBERS_MAX + FOLLOWERS_MAX:
            raise BadInput(f"a batch of more than {MEMBERS_MAX} messages: send several")
        self.planned.append(one)

    def named(self, batch: int, role: FollowRole, number: int) -> None:
        """Note which message or batch follows."""
        row = self.rows[batch]
        self.rows[batch] = replace(row, **{role.value: number})

    def _send(self, given: Step) -> Send:
        send = as_send(given)
        if send.key is not None:
            raise BadInput("a message of a batch has no key: it is stored once, with its batch")
        if send.replace is not None or send.unique_for:
            raise BadInput("a message of a batch takes no replace= and no unique_for=")
        if send.tenant != self._tenant:
            raise BadInput(
                f"a batch belongs to one tenant: {send.tenant!r} beside {self._tenant!r}"
            )
        return send


def listed(members: object) -> list[Step]:
    """Check that members are a list, and not too long."""
    if isinstance(members, (str, bytes, Send)) or not isinstance(members, Sequence):
        raise BadInput("members of a batch: give a list of Send(…), (queue, body) or Batch(…)")
    if len(members) > MEMBERS_MAX:
        raise BadInput(f"a batch of {len(members)} members: at most {MEMBERS_MAX}")
    return list(members)


def tenant_of(batch: Batch) -> str:
    """The tenant of a batch's first message."""
    step: Step | None = batch
    for _ in range(DEPTH_MAX + 1):
        if not isinstance(step, Batch):
            return DEFAULT_TENANT if step is None else as_send(step).tenant
        given = (*listed(step.members)[:1], step.then, step.on_failure)
        step = next((one for one in given if one is not None), None)
    return DEFAULT_TENANT


def plans_of(planner: BatchPlanner, drafts: Sequence[Draft]) -> list[BatchPlan]:
    """What each transaction stores. The first finds out whether the queues of all are there."""
    placed, held = _placed(planner, drafts)
    now, tokens = [draft for draft, _ in placed], [(draft.id, batch) for draft, batch in placed]
    filling = len(now) > SLICE
    rows = [
        replace(row, state=BatchState.filling) if filling and row.state is BatchState.open else row
        for row in planner.rows.values()
    ]
    later = {one.draft.queue for one in held} | {draft.queue for draft in now[SLICE:]}
    members = planner.members + tokens[:SLICE]
    first = BatchPlan(rows, now[:SLICE], members, held, sorted(later))
    starts = range(SLICE, len(now), SLICE)
    rest = [BatchPlan((), now[n : n + SLICE], tokens[n : n + SLICE], ()) for n in starts]
    return [first, *rest]


def _placed(
    planner: BatchPlanner, drafts: Sequence[Draft]
) -> tuple[list[tuple[Draft, int]], list[HeldDraft]]:
    """Sort drafts into those that are sent now, with their batches, and those that follow."""
    now: list[tuple[Draft, int]] = []
    held: list[HeldDraft] = []
    for one, draft in zip(planner.planned, drafts, strict=True):
        if one.follows is not None:
            planner.named(*one.follows, draft.id)
        headers = marked(draft.headers, one.batch) if one.batch else draft.headers
        ready = replace(draft, headers=headers)
        if not one.after or one.role is None:
            now.append((ready, one.batch))
            continue
        if one.batch and one.follows is None:
            planner.members.append((draft.id, one.batch))
        delay_ms = int(seconds_of(one.send.delay) * 1000)
        held.append(HeldDraft(one.after, one.role, ready, delay_ms))
    return now, held
