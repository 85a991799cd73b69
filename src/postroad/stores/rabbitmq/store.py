"""The store on RabbitMQ: messages go through the broker, everything else is in the state store."""

from collections.abc import Sequence
from typing import Final, NoReturn

from msgspec import structs

from postroad.model.control import CancelSlice, CancelState, Cursor, MessageFilter
from postroad.model.dead import DeadFilter, ReplayMode
from postroad.model.entities import Accepted, Draft, Lane, Queue, QueueSpec
from postroad.model.errors import NotDead, NotOnRabbitMQ, StoreError, Unroutable
from postroad.model.ids import to_text
from postroad.model.named_limits import NewLimit
from postroad.model.pace import Limit
from postroad.model.privacy import Erasure
from postroad.model.record import Collected, Swept
from postroad.model.states import NEVER
from postroad.model.ticks import Schedule, Tick
from postroad.ports.log import Log
from postroad.stores.rabbitmq.base import RabbitBase, StateStore
from postroad.stores.rabbitmq.delays.gates import HOLD_MS
from postroad.stores.rabbitmq.insight import RabbitInsight, RabbitOverview
from postroad.stores.rabbitmq.leasing import RabbitLeases
from postroad.stores.rabbitmq.options import RabbitOptions
from postroad.stores.rabbitmq.publishing.publisher import PackedMessage
from postroad.stores.rabbitmq.state.broker_state import StateBatch

LEFT: Final = (
    "messages in the broker's queues: nobody can take single ones out. They are delivered or "
    "expire; purge their queue in the broker to lose all of it. Queues and their settings stay"
)
INSTEAD: Final = "a road on SQLite or PostgreSQL can"


class RabbitInbox(RabbitBase):
    """Opens queues and accepts messages."""

    async def open_queues(self, specs: Sequence[QueueSpec]) -> list[Queue]:
        """Open the queues of these names; new ones are created."""
        for spec in specs:
            if spec.policy.ordered:
                raise NotOnRabbitMQ(
                    f"{spec.name!r} is to be ordered, which queues of a broker with retries cannot "
                    f"be: leave `ordered` out, or use a road that is ordered; {INSTEAD}"
                )
        return await self.queue_cache.open_queues(specs)

    async def find_queue(self, tenant: str, name: str) -> Queue | None:
        """The queue of that name, or None."""
        self._check_open()
        return await self.queue_cache.find((tenant, name))

    async def accept(self, drafts: Sequence[Draft]) -> list[Accepted]:
        """Publish drafts together. A draft is accepted when the broker has confirmed it. There is
        no transaction across broker queues: a full one refuses its own messages only."""
        self._check_open()
        answers = await self.broker.send([self._packed_message(draft) for draft in drafts])
        pairs = list(zip(drafts, answers, strict=True))
        await self._remember([draft for draft, failure in pairs if failure is None])
        return [Accepted(draft.id, refused=failure) for draft, failure in pairs]

    async def put(self, draft: Draft) -> bool:
        """Publish a draft that is due, and wait for its own confirm only. False when `accept` must
        publish it instead."""
        self._check_open()
        if draft.due_ms > draft.accepted_at_ms:
            return False
        confirm = self.broker.put(self._packed_message(draft))
        if confirm is None:
            return False
        try:
            await confirm
        except Unroutable:
            return False  # somebody deleted its broker queue
        self.recent.add(draft)
        return True

    async def _remember(self, drafts: Sequence[Draft]) -> None:
        """Record new messages so that they can be shown: those for later in the state store, the
        others in memory. They are in the broker, whether this fails or not."""
        later = StateBatch(self.clock.now_ms())
        for draft in drafts:
            if draft.due_ms > draft.accepted_at_ms + HOLD_MS:
                later.sent(draft)
            else:
                self.recent.add(draft)
        try:
            await self.broker_state.write(later)
        except StoreError as error:
            self.log.warning(
                "could not record messages that were sent for later; they are in the broker",
                error=str(error),
            )

    def hand_over(self, drafts: Sequence[Draft]) -> None:
        """Write drafts to the broker without waiting for confirms."""
        self._check_open()
        self.broker.hand_over([self._packed_message(draft) for draft in drafts])

    def _packed_message(self, draft: Draft) -> PackedMessage:
        if draft.key:
            raise NotOnRabbitMQ(
                "key=: a broker does not remember the keys of what it has delivered. Leave it out "
                f"and let the recipient tell repeats by the message's id; {INSTEAD}"
            )
        if draft.order_group:
            raise NotOnRabbitMQ(
                "order_key=: a message that is retried is overtaken by those behind it. Leave it "
                f"out, or put what belongs together into one message; {INSTEAD}"
            )
        return self.header_templates.packed_message(draft, self.clock.now_ms())


class RabbitControl(RabbitBase):
    """Pauses, unblocks, limits and settles. Cancelling is not possible on a broker."""

    async def cancel(
        self, tenant: str, ids: Sequence[int], *, running: bool = False
    ) -> dict[int, CancelState]:
        """Refuse: no single message can be taken out of a broker queue."""
        _no_cancel(tenant, ids, running)

    async def withdraw(self, owner: int, lane: Lane, ids: Sequence[int]) -> bool:
        """Refuse, like `cancel`."""
        _no_cancel(owner, lane, ids)

    async def cancel_some(self, which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
        """Refuse, like `cancel`."""
        _no_cancel(which, after, limit)

    async def settle(self, tenant: str, number: int, *, sent: bool) -> bool:
        """Count an uncertain message as delivered, or publish it again."""
        settled = await self.state.settle(tenant, number, sent=sent)
        await self.outbox.publish_now()
        return settled

    async def pause_queue(self, queue: int, *, paused: bool) -> None:
        """Pause or resume a queue."""
        await self.state.pause_queue(queue, paused=paused)
        await self._changed(queue)

    async def unblock_queue(self, queue: int) -> None:
        """Lift a queue's block, also one that disabled it."""
        await self.state.unblock_queue(queue)
        await self._changed(queue)

    async def limit_queue(self, queue: int, limit: Limit | None) -> None:
        """Set a queue's own limit."""
        await self.state.limit_queue(queue, limit)
        await self._changed(queue)

    async def pause_lane(self, lane: int, *, paused: bool) -> None:
        """Pause or resume a lane."""
        await self.state.pause_lane(lane, paused=paused)
        await self._lane_changed(lane)

    async def hold_lane(self, lane: int, until_ms: int, reason: str) -> None:
        """Hold a lane until a time; with 0 close a circuit whose time is over."""
        await self.state.hold_lane(lane, until_ms, reason)
        await self._lane_changed(lane)

    async def unblock_lane(self, lane: int) -> None:
        """Close a lane's circuit, and lift its queues' `unreachable` blocks."""
        await self.state.unblock_lane(lane)
        await self._lane_changed(lane)

    async def limit_lane(self, lane: int, limit: Limit | None) -> bool:
        """Set the limit of a lane's credential."""
        found = await self.state.limit_lane(lane, limit)
        await self._lane_changed(lane)
        return found

    async def put_limit(self, new: NewLimit) -> None:
        """Set a named limit."""
        await self.state.put_limit(new)
        await self._limits_changed()

    async def drop_limit(self, tenant: str, name: str) -> bool:
        """Lift a named limit; False when there is none."""
        found = await self.state.drop_limit(tenant, name)
        await self._limits_changed()
        return found

    async def _limits_changed(self) -> None:
        self.queue_cache.forget()
        await self.queue_cache.reread_held()
        self.parking.look()

    async def _changed(self, queue: int) -> None:
        await self.queue_cache.reread(queue)
        self.parking.look()

    async def _lane_changed(self, lane: int) -> None:
        await self.queue_cache.reread_lane(lane)
        self.parking.look()


class RabbitUpkeep(RabbitBase):
    """Expires and deletes old messages. Replays and ticks, which the state store makes, are
    published from here."""

    async def sweep(self, limit: int) -> Swept:
        """Move expired messages, and those that were blocked for too long, to the dead set.
        Messages in the broker come back when they expire."""
        swept = await self.state.sweep(limit)
        expired, next_at_ms = await self.parking.expire(limit)
        return Swept(swept.expired + expired, min(swept.next_at_ms, next_at_ms))

    async def retain(self, history_ms: int, dead_ms: int) -> int:
        """Delete finished and dead messages that are older than this."""
        await self.broker_state.retain(self.clock.now_ms() - history_ms)
        return await self.state.retain(history_ms, dead_ms)

    async def collect(self, unused_ms: int) -> Collected:
        """Delete no unused queue: messages in the broker may refer to it, and cannot be listed."""
        del unused_ms
        return Collected(0, NEVER)

    async def dead_replay(
        self, which: DeadFilter, mode: ReplayMode, *, count: int, dry_run: bool
    ) -> int:
        """Take messages out of the dead set in one transaction, and publish them."""
        await self._check_dead(which)
        replayed = await self.state.dead_replay(which, mode, count=count, dry_run=dry_run)
        if not dry_run:
            await self.outbox.publish_now()
        return replayed

    async def dead_purge(self, which: DeadFilter, *, count: int, dry_run: bool) -> int:
        """Delete dead messages and their tries."""
        await self._check_dead(which)
        return await self.state.dead_purge(which, count=count, dry_run=dry_run)

    async def erase_slice(self, number: int) -> Erasure | None:
        """Do the next part of an erasure in the state store. Queues stay: messages in the broker
        may need them."""
        return _told(await self.state.erase_slice(number, keeps_queues=True))

    async def erasure_page(
        self, tenant: str | None, number: int, after: int, limit: int
    ) -> list[Erasure]:
        """List erasures, each with what it does not reach."""
        found = await self.state.erasure_page(tenant, number, after, limit)
        return [structs.replace(each, left=LEFT) for each in found]

    async def _check_dead(self, which: DeadFilter) -> None:
        """Refuse ids of messages that are alive: the state store does not know them all."""
        for number in which.ids or ():
            if (
                number in self.delivered.messages
                or await self.broker_state.place_of(number) is not None
            ):
                raise NotDead(f"{to_text(number)} is not dead: nothing was changed")

    async def list_index(self, *, start: bool) -> int | None:
        """Build no index by queue: it is built in order of acceptance, and the state store learns
        of most messages when they are finished. Lists of finished messages walk."""
        del start
        return None

    async def tick(
        self, schedule: Schedule, ticks: Sequence[Tick], until_ms: int, look_ms: int = NEVER
    ) -> Schedule | None:
        """Decide ticks in one transaction, and publish their messages."""
        stored = await self.state.tick(schedule, ticks, until_ms, look_ms)
        await self.outbox.publish_now()
        return stored


class RabbitStore(
    RabbitInbox, RabbitLeases, RabbitControl, RabbitUpkeep, RabbitInsight, RabbitOverview
):
    """A broker for messages, with a state store beside it for everything else."""

    def __init__(self, options: RabbitOptions, state: StateStore, log: Log | None = None) -> None:
        super().__init__(options, state, log)
        self.dead_page, self.dead_letter = state.dead_page, state.dead_letter
        self.dead_trim = state.dead_trim
        self.list_scope, self.list_names = state.list_scope, state.list_names
        self.list_messages, self.list_rows = state.list_messages, state.list_rows
        self.list_indexed_ms = state.list_indexed_ms
        self.bodies, self.body_of_unfinished = state.bodies, state.body_of_unfinished
        self.recipients_of, self.sent_to = state.recipients_of, state.sent_to
        self.listed_to = state.listed_to
        self.reserve, self.ledgers = state.reserve, state.ledgers
        self.named_limits = state.named_limits
        self.put_rule, self.drop_rule = state.put_rule, state.drop_rule
        self.rules_of, self.rules_for = state.rules_of, state.rules_for
        self.rules_version, self.rule_hits = state.rules_version, state.rule_hits
        self.add_rollups, self.rollups = state.add_rollups, state.rollups
        self.token_add, self.token_find = state.token_add, state.token_find
        self.token_page, self.token_drop = state.token_page, state.token_drop
        self.token_exchange = state.token_exchange
        self.token_sweep = state.token_sweep
        self.tenant_add, self.tenant_limit = state.tenant_add, state.tenant_limit
        self.tenant_find, self.tenant_page = state.tenant_find, state.tenant_page
        self.tenants_own = state.tenants_own
        self.suppress, self.unsuppress = state.suppress, state.unsuppress
        self.suppressed, self.suppression_page = state.suppressed, state.suppression_page
        self.add_report, self.reports_of = state.add_report, state.reports_of
        self.soft_bounces, self.reports_retain = state.soft_bounces, state.reports_retain
        self.take_token, self.tokens_retain = state.take_token, state.tokens_retain
        self.audit_add, self.audit_end = state.audit_add, state.audit_end
        self.audit_page, self.audit_retain = state.audit_page, state.audit_retain
        self.erasure_add, self.erasures_waiting = state.erasure_add, state.erasures_waiting
        self.erasure_waits, self.erasure_cancelled = state.erasure_waits, state.erasure_cancelled
        self.erasure_retain = state.erasure_retain
        self.erasure_cancel, self.export_page = state.erasure_cancel, state.export_page
        self.erasure_cancel_ids = state.cancel
        self.read_hooks, self.write_hook = state.read_hooks, state.write_hook
        self.hook_page, self.drop_hook = state.hook_page, state.drop_hook
        self.hooks_not_under = state.hooks_not_under
        self.headers_page, self.write_headers = state.headers_page, state.write_headers
        self.open_schedule, self.tick_notes = state.open_schedule, state.tick_notes
        self.timetable_add, self.timetable_put = state.timetable_add, state.timetable_put
        self.timetable_drop, self.timetable_page = state.timetable_drop, state.timetable_page
        self.declared_versions = state.declared_versions
        self.timetables_next = state.timetables_next
        self.timetable_postpone = state.timetable_postpone
        self.hear_timetables = state.hear_timetables
        self.hub_lead, self.hub_unlead = state.hub_lead, state.hub_unlead
        self.hub_hear = state.hub_hear
        self.box_look, self.box_commit = state.box_look, state.box_commit
        self.box_create, self.box_find = state.box_create, state.box_find
        self.box_old, self.box_page = state.box_old, state.box_page


def _told(erasure: Erasure | None) -> Erasure | None:
    return None if erasure is None else structs.replace(erasure, left=LEFT)


def _no_cancel(*_asked: object) -> NoReturn:
    raise NotOnRabbitMQ(
        "cancel: nobody can take a single message out of a broker's queue. Pause the queue, or let "
        f"its handler raise Reject for what is not wanted any more; {INSTEAD}"
    )
