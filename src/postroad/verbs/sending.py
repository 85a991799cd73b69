"""Sending: find the queue and its transport, store the message in one commit, give a receipt."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypedDict, TypeVar

from msgspec.structs import replace

from postroad.engine.drafting import Send, as_send, draft
from postroad.engine.intake import Answers, Intake
from postroad.model.durations import Duration
from postroad.model.endpoint import FEED, QUEUE_PREFIX
from postroad.model.entities import DEFAULT_TENANT, Draft, LaneKey, Policy, Queue, QueueSpec
from postroad.model.errors import (
    BadInput,
    NotOnRabbitMQ,
    NotOpen,
    PostroadError,
    QueueGone,
)
from postroad.model.ids import IdSequence, to_text
from postroad.model.keyring import KeyRing
from postroad.model.private_headers import has_secrets, sealed
from postroad.model.texts import checked
from postroad.observe import tracing
from postroad.ports.handing import HandsOver
from postroad.ports.joining import Joins
from postroad.ports.store import Store
from postroad.ports.transport import Admits, Transport, Vets
from postroad.ports.usage import CountedKind
from postroad.transports.channels import ChannelTransport
from postroad.verbs.addressing import Addressing, check_named
from postroad.verbs.allowance import Allowance
from postroad.verbs.attachments import AttachmentHolds
from postroad.verbs.known_queues import check_names, local_of
from postroad.verbs.receipts import HandedOver, JobReads, Receipt, check_plain, receipts_of

T = TypeVar("T")
Sends = Sequence[Send | tuple[str, object]]
SCHEMES: Final = {"http": "webhook", "https": "webhook"}
"""Schemes whose transport has another name."""
QUEUES_KNOWN_MAX: Final = 50_000
"""Queues that a sender caches, some hundred bytes each; a road may have millions."""
AT_ONCE: Final = 64
"""How many messages of a batch are drafted, or answered, in one turn of the loop: 500 took 4 ms."""
GONE_MAX: Final = 3
"""How often in a row a queue is made again that was deleted during a send."""


class SendOptions(TypedDict, total=False):
    """Options of a send: the fields of `Send`."""

    key: str | None
    order_key: str | None
    deliver_at: datetime | None
    delay: Duration
    expires_at: datetime | None
    priority: int
    headers: dict[str, str] | None
    tenant: str
    credential: str
    check: bool
    zone: str
    replace: str | None
    at_most: Duration
    unique_for: Duration


class Sending:
    """Sends messages for one road while it is open."""

    def __init__(
        self,
        store: Store,
        transports: Mapping[str, Transport],
        addressing: Addressing,
        ring: KeyRing,
        allowance: Allowance,
    ) -> None:
        self.allowance = allowance
        self._addressing = addressing
        self._ring = ring
        self._store = store
        self._transports = transports
        self._local = local_of(transports)
        self._bytes_max = allowance.body_bytes_max
        self._queues: dict[tuple[str, str], Queue] = {}
        self._far = store if isinstance(store, HandsOver) else None  # 3 µs to ask
        self.ids = IdSequence(0)
        self.jobs: JobReads | None = None
        """What receipts ask for results."""
        self._intake: Intake | None = None

    def open(self, owner: int) -> None:
        """Accept messages from now on."""
        self.ids = IdSequence(owner)
        self._intake = Intake(self._store)

    @property
    def is_open(self) -> bool:
        """Whether messages are accepted."""
        return self._intake is not None

    def close(self) -> None:
        """Accept no more messages."""
        self._intake = None
        self.allowance.stop()

    def taking(self) -> Intake:
        """The intake; NotOpen if the road is not open."""
        if self._intake is None:
            raise NotOpen("the road is not open: use it inside `async with road:`")
        return self._intake

    async def send(self, send: Send, *, confirm: bool = True) -> Receipt:
        """Store one message. A broker may be asked not to confirm; elsewhere that gains nothing,
        and the message is stored all the same."""
        traced = tracing.active()
        if self._far is None:
            return (await (self.send_many if traced else self._send_many)([send]))[0]
        if not traced:
            return await self._send_far(self._far, send, confirm=confirm)
        with tracing.sending(1) as carried:
            return await self._send_far(self._far, with_trace(send, carried), confirm=confirm)

    async def _send_far(self, store: HandsOver, send: Send, *, confirm: bool) -> Receipt:
        intake = self.taking()
        await self._check((send,))
        (send,) = await self._addressing.routed((send,))
        known = self._queues.get((send.tenant, send.queue))
        queue = known or await self._queue(send.tenant, send.queue)
        drafted = self._draft(send, queue, self._store.clock.now_ms())
        await self._hold([send], [drafted])
        if not confirm:
            store.hand_over([drafted])
            return HandedOver(to_text(drafted.id), send.queue)
        if await store.put(drafted):
            return Receipt(to_text(drafted.id), send.queue)
        return receipts_of([send], await intake.put([drafted]), self.jobs)[0]

    async def send_many(self, sends: Sends) -> list[Receipt]:
        """Store many messages in one transaction."""
        asked = [as_send(one) for one in sends]
        if not tracing.active():
            return await self._send_many(asked)
        with tracing.sending(len(asked)) as carried:
            return await self._send_many([with_trace(send, carried) for send in asked])

    async def _send_many(self, asked: Sequence[Send]) -> list[Receipt]:
        intake = self.taking()
        self.allowance.sends({send.tenant for send in asked})
        await self._check(asked)
        asked = await self._addressing.routed(asked)
        known = self._queues
        gone = 0
        while True:
            queues = [
                known.get((send.tenant, send.queue)) or await self._queue(send.tenant, send.queue)
                for send in asked
            ]
            now_ms = self._store.clock.now_ms()
            drafts = [
                self._draft(send, queue, now_ms) for send, queue in zip(asked, queues, strict=True)
            ]
            await self._hold(asked, drafts)
            try:
                return receipts_of(asked, await intake.put(drafts), self.jobs)
            except QueueGone:
                gone += 1
                if gone > GONE_MAX:
                    raise
                self.forget(asked)

    async def _hold(self, asked: Sequence[Send], drafts: Sequence[Draft]) -> None:
        """Note, before they are stored, which attachments messages need."""
        pairs = zip(asked, drafts, strict=True)
        needed = [(send.tenant, one.id, one.blobs) for send, one in pairs if one.blobs]
        if needed:
            await AttachmentHolds(self._store).hold_each(needed)

    def forget(self, sends: Sequence[Send]) -> None:
        """Drop their queues from the cache: one of them was deleted."""
        for send in sends:
            self._queues.pop((send.tenant, send.queue), None)

    async def send_each(self, sends: Sends) -> list[Receipt | PostroadError]:
        """Store what is good in one transaction; the others have their error in their place."""
        asked = [as_send(one) for one in sends]
        if not tracing.active():
            return await self._send_each(asked)
        with tracing.sending(len(asked)) as carried:
            return await self._send_each([with_trace(send, carried) for send in asked])

    async def _send_each(self, sends: Sequence[Send]) -> list[Receipt | PostroadError]:
        intake = self.taking()
        pairs = [await self.draft_or_why(send) async for send in self._in_turns(sends)]
        answers = [
            (send, draft if isinstance(draft, PostroadError) else intake.put([draft]))
            for send, draft in pairs
        ]
        return [
            await self._settled(send, answer) if isinstance(answer, asyncio.Future) else answer
            async for send, answer in self._in_turns(answers)
        ]

    async def _in_turns(self, items: Sequence[T]) -> AsyncIterator[T]:
        """One after the other; others have their turn between."""
        for count, item in enumerate(items, 1):
            yield item
            if count % AT_ONCE == 0:
                await self._store.clock.sleep(0)

    async def _settled(self, send: Send, answer: Answers) -> Receipt | PostroadError:
        try:
            try:
                return receipts_of([send], await answer, self.jobs)[0]
            except QueueGone:
                self.forget([send])
                return (await self._send_many([send]))[0]
        except PostroadError as error:
            return error

    async def draft_or_why(self, send: Send) -> tuple[Send, Draft | PostroadError]:
        """Check and draft a message without storing it, or say what is wrong with it."""
        try:
            self.allowance.sends((send.tenant,))
            await self._check((send,))
            (send,) = await self._addressing.routed((send,))
            queue = await self._queue(send.tenant, send.queue)
            drafted = self._draft(send, queue, self._store.clock.now_ms())
            await self._hold([send], [drafted])
        except PostroadError as error:
            return send, error
        return send, drafted

    async def send_in(self, connection: object, send: Send) -> Receipt:
        """Store a message inside the caller's own open transaction."""
        if not isinstance(self._store, Joins):
            raise NotOnRabbitMQ(
                "send_in: a broker cannot take part in a transaction of your database. Send after "
                "your commit; or use a road on PostgreSQL or SQLite, which can"
            )
        if send.replace is not None or send.unique_for:
            raise BadInput(
                "replace= and unique_for= do not work with send_in, which waits for no other "
                "sender: use road.send"
            )
        self.allowance.sends((send.tenant,))
        await self._check((send,))
        (send,) = await self._addressing.routed((send,))
        gone = 0
        while True:
            found = await self._queue_in(self._store, connection, send)
            drafted = self._draft(send, found, self._store.clock.now_ms())
            await AttachmentHolds(self._store).hold_in(self._store, connection, send, drafted)
            try:
                stored = await self._store.send_in(connection, [drafted])
                return receipts_of([send], stored, self.jobs)[0]
            except QueueGone:
                gone += 1
                if gone > GONE_MAX:
                    raise
                self.forget([send])

    async def _queue_in(self, store: Joins, connection: object, send: Send) -> Queue:
        queue = send.queue
        known = self._queues.get((send.tenant, queue))
        if known is None:
            await self._admit(queue, send.tenant)
        found = known or await self._store.find_queue(send.tenant, queue)
        if found is None:
            check_names(queue, send.tenant)
            await self._vet(queue, send.tenant)
            spec = self._spec(send.tenant, queue)
            await self._check_room(spec)
            found = await store.queue_in(connection, spec)
        return found

    def _draft(self, send: Send, queue: Queue, now_ms: int) -> Draft:
        if send.headers:
            transport = self._transport(send.queue)
            if isinstance(transport, ChannelTransport):
                return transport.check(self._drafted(send, queue, now_ms), queue)
            check_named(send)
            if isinstance(transport, Vets):
                transport.check(send.headers)
            if has_secrets(send.headers):
                return sealed(self._drafted(send, queue, now_ms), queue, self._ring)
        return self._drafted(send, queue, now_ms)

    def _drafted(self, send: Send, queue: Queue, now_ms: int) -> Draft:
        if self._far is not None:
            check_plain(send)
        return draft(send, queue, self.ids.next(now_ms), now_ms, self._bytes_max)

    async def draft_tick(self, queue: str, body: object) -> Draft:
        """Draft the message of a timetable."""
        found = await self._queue(DEFAULT_TENANT, queue)
        return self._draft(Send(queue, body), found, self._store.clock.now_ms())

    async def _queue(self, tenant: str, name: str) -> Queue:
        known = self._queues.get((tenant, name))
        if known is not None:
            return known
        check_names(name, tenant)
        found = None
        transport = self._transport(name)
        if transport is self._local:
            elsewhere = name not in self._local.handlers
        else:
            elsewhere = isinstance(transport, Vets)
        await self._admit(name, tenant)
        if elsewhere:
            found = await self._store.find_queue(tenant, name)
        if found is None:
            await self._vet(name, tenant)
            await self._check_room(self._spec(tenant, name))
            return await self.open_queue(tenant, name)
        return self._know(found)

    def _know(self, queue: Queue) -> Queue:
        if len(self._queues) >= QUEUES_KNOWN_MAX:
            self._queues.clear()  # those that are in use are soon known again
        self._queues[(queue.tenant, queue.name)] = queue
        return queue

    def _transport(self, name: str) -> Transport:
        scheme, mark, _ = name.partition("://")
        if not mark:
            if name.startswith(QUEUE_PREFIX):
                return self._transports["webhook"]
            return self._addressing.transport(name) or self._local
        transport = self._transports.get(SCHEMES.get(scheme, scheme))
        if transport is None or scheme == "webhook":
            raise BadInput(f"{scheme}:// is not understood: no transport for it is set up")
        return transport

    async def _vet(self, name: str, tenant: str) -> None:
        transport = self._transport(name)
        if isinstance(transport, Vets):
            await transport.vet(name, tenant)

    async def _check(self, sends: Sequence[Send]) -> None:
        """Refuse messages that ask for a check and whose server cannot be called at this moment."""
        for send in sends:
            if send.check and isinstance(transport := self._transport(send.queue), Vets):
                _ = checked("queue", send.queue), checked("tenant", send.tenant)  # short enough
                await transport.vet(send.queue, send.tenant, now=True)

    async def _admit(self, name: str, tenant: str) -> None:
        transport = self._transport(name)
        if isinstance(transport, Admits):
            await transport.admit(name, tenant)

    def _spec(self, tenant: str, name: str) -> QueueSpec:
        transport = self._transport(name)
        lane = transport.address(name, tenant)
        return QueueSpec(tenant, name, lane, transport.shards, transport.policy(name))

    async def open_queue(self, tenant: str, name: str) -> Queue:
        """Open a queue, making it if need be, without regard to the tenant's limits."""
        (queue,) = await self._store.open_queues([self._spec(tenant, name)])
        return self._know(queue)

    async def _check_room(self, spec: QueueSpec) -> None:
        """Raise TenantFull if a new queue or its lanes exceed the limits of its tenant."""
        for kept, more in ((CountedKind.queues, 1), (CountedKind.lanes, spec.shards)):
            if await self.allowance.has_room(kept, spec.tenant, more):
                continue
            if await self._store.find_queue(spec.tenant, spec.name) is None:
                raise self.allowance.refusal(kept, spec.tenant)

    async def open_webhook(
        self, tenant: str, url: str, policy: Policy, credential: str, name: str = ""
    ) -> Queue:
        """Open a webhook's queue, or an endpoint's by its `name`; new ones use the credential."""
        await self._vet(url, tenant)
        spec = self._spec(tenant, url)
        lane = replace(spec.lane, credential=credential)
        spec = replace(spec, name=name or url, policy=policy, lane=lane)
        return await self._opened(spec)

    async def open_feed(self, tenant: str, name: str, policy: Policy) -> Queue:
        """Open the queue of an endpoint that is read, with a lane of its own."""
        return await self._opened(
            QueueSpec(tenant, name, LaneKey(FEED, name, tenant=tenant), 1, policy)
        )

    async def _opened(self, spec: QueueSpec) -> Queue:
        await self._check_room(spec)
        (queue,) = await self._store.open_queues([spec])
        return self._know(queue)


def with_trace(send: Send, carried: Mapping[str, str]) -> Send:
    """Add the sender's trace headers, so that tries can be linked to them."""
    return replace(send, headers={**(send.headers or {}), **carried}) if carried else send
