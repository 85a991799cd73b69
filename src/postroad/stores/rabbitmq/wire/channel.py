"""An AMQP channel: calls, publishes with confirms, consumers and acks."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from pamqp import base, commands
from pamqp import frame as pamqp_frame

from postroad.model.errors import BrokerLost, QueueFull, StoreError, Unroutable
from postroad.stores.rabbitmq.wire.ack_merging import AckMerger
from postroad.stores.rabbitmq.wire.confirms import Confirm, Confirms, fail
from postroad.stores.rabbitmq.wire.errors import of_channel
from postroad.stores.rabbitmq.wire.frame_protocol import FrameProtocol
from postroad.stores.rabbitmq.wire.frames import (
    ACK,
    DELIVER,
    INDEX,
    NACK,
    SETTLE,
    cold,
    content,
    publish_head,
)
from postroad.stores.rabbitmq.wire.incoming import IncomingMessage, read_deliver
from postroad.stores.rabbitmq.wire.properties import Delivery, Properties

HEADS_MAX: Final = 4_096

OnDelivery = Callable[[Delivery], None]
OnCancel = Callable[[], None]
Answer = base.Frame | Delivery


class _Consumer(Struct):
    on_delivery: OnDelivery
    on_cancel: OnCancel | None


class AmqpChannel:
    """Made by `AmqpConnection.channel`. An error of the broker closes it and fails its waiters."""

    def __init__(
        self,
        number: int,
        wire: FrameProtocol,
        on_end: Callable[[int], None],
        on_lost: Callable[[StoreError], None] | None,
    ) -> None:
        self.number = number
        self.lost: StoreError | None = None
        self.on_return: Callable[[Unroutable], None] | None = None
        self.arrived = 0
        """How many messages the broker has delivered."""
        self.held = 0
        """How many of them are neither acked nor nacked."""
        self._wire = wire
        self._on_end = on_end
        self._on_lost = on_lost
        self._calls: deque[tuple[base.Frame, asyncio.Future[Answer]]] = deque()
        self._consumers: dict[bytes, _Consumer] = {}
        self._consumed = 0
        self._arriving = IncomingMessage()
        self.on_header = self._arriving.on_header
        self.on_body = self._arriving.on_body
        self._settling = AckMerger(number)
        self._heads: dict[tuple[str, str, bool], bytes] = {}
        self._confirms: Confirms | None = None

    @property
    def unconfirmed(self) -> int:
        """How many publishes the broker has not confirmed or refused."""
        return 0 if self._confirms is None else len(self._confirms.open)

    @property
    def oldest(self) -> Confirm | None:
        """The publish that has waited longest for its confirm."""
        return None if self._confirms is None else self._confirms.oldest

    def next_answer(self) -> Confirm:
        """A future that is done when the broker answers any publish, or the channel is lost. It is
        shared by all waiters, so nobody may cancel it."""
        if self._confirms is None:
            raise self.lost or BrokerLost("the channel has no confirms")
        return self._confirms.next_answer()

    def give_up(self, error: StoreError) -> None:
        """Fail all open confirms. The broker may or may not have stored those messages."""
        if self._confirms is not None:
            self._confirms.fail(error)

    async def call(self, method: base.Frame) -> Any:
        """Send a method and await its answer. Calls may run concurrently."""
        return await self.ask(method)

    async def do(self, method: base.Frame) -> None:
        """Send a method whose answer carries no data. A refusal is raised."""
        _ = await self.ask(method)  # there is only one possible answer

    def ask(self, method: base.Frame) -> asyncio.Future[Answer]:
        """Send a method; answers a future of its answer, so that many calls take one round trip."""
        if self.lost is not None:
            raise self.lost
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._calls.append((method, answer))
        self._wire.send(pamqp_frame.marshal(method, self.number))
        return answer

    async def confirm(self) -> None:
        """Switch the channel to confirm mode."""
        await self.do(commands.Confirm.Select())
        self._confirms = Confirms()

    def publish(
        self,
        exchange: str,
        key: str,
        body: bytes,
        properties: bytes | Properties,
        *,
        mandatory: bool = True,
    ) -> Confirm | None:
        """Write a message at the end of this turn of the event loop. In confirm mode the answer is
        a future: done when the broker has stored the message, failed with `Unroutable`,
        `QueueFull` or the error that closed the channel. A mandatory message needs a message_id:
        the broker's return is matched by it."""
        if self.lost is not None:
            raise self.lost
        head = self._heads.get((exchange, key, mandatory))
        if head is None:
            if len(self._heads) >= HEADS_MAX:
                self._heads.clear()
            head = publish_head(self.number, exchange, key, mandatory=mandatory)
            self._heads[exchange, key, mandatory] = head
        packed = properties if isinstance(properties, bytes) else properties.pack()
        self._wire.send(head + content(self.number, packed, body, self._wire.frame_max - 8))
        return None if self._confirms is None else self._confirms.add(packed)

    async def consume(
        self,
        queue: str,
        on_delivery: OnDelivery,
        *,
        prefetch: int,
        on_cancel: OnCancel | None = None,
    ) -> str:
        """Start a consumer and return its tag. The broker delivers at most `prefetch` unacked
        messages. `on_cancel` is called when the broker ends it: the queue was deleted or moved."""
        self._consumed += 1
        tag = f"road.{self.number}.{self._consumed}"
        self._consumers[tag.encode()] = _Consumer(on_delivery, on_cancel)
        limited = self.ask(commands.Basic.Qos(prefetch_count=prefetch))
        asked = self.ask(commands.Basic.Consume(queue=queue, consumer_tag=tag))
        _ = await limited, await asked  # there is only one possible answer; a refusal is raised
        return tag

    async def cancel(self, tag: str) -> None:
        """Stop a consumer. What it was given stays unacked until it is acked or nacked."""
        await self.do(commands.Basic.Cancel(consumer_tag=tag))
        self._consumers.pop(tag.encode(), None)

    async def get(self, queue: str) -> Delivery | None:
        """Get the first message of a queue, or None when it is empty."""
        answer = await self.ask(commands.Basic.Get(queue=queue))
        return answer if isinstance(answer, Delivery) else None

    def ack(self, tag: int) -> None:
        """Acknowledge a delivery. A lost channel ignores it: the broker delivers it again."""
        if self.lost is None:
            self.held -= 1
            self._settling.ack(tag)
            self._wire.gather(self)

    def nack(self, tag: int, *, requeue: bool) -> None:
        """Return a delivery to its queue, or dead-letter it. A lost channel ignores it."""
        if self.lost is None:
            self.held -= 1
            self._settling.nack(tag, requeue=requeue)
            self._wire.gather(self)

    async def close(self) -> None:
        """Close the channel after writing the acks that were gathered."""
        if self.lost is None:
            self._wire.flush()
            await self.do(commands.Channel.Close(200, "", 0, 0))
            self._on_lost = None
            self.fail(BrokerLost("the channel is closed"))

    def drain(self, out: list[bytes]) -> None:
        """Add the acks that were gathered in this turn."""
        if self.lost is None:
            out += self._settling.frames()

    def fail(self, error: StoreError) -> None:
        """Mark the channel as lost, and fail everything that waits on it."""
        if self.lost is not None:
            return
        self.lost = error
        self._wire.readers.pop(self.number, None)
        if self._confirms is not None:
            self._confirms.fail(error)
        for _, answer in self._calls:
            fail(answer, error)
        self._calls.clear()
        self._on_end(self.number)
        if self._on_lost is not None:
            self._on_lost(error)

    def on_method(self, data: bytes, at: int, stop: int) -> None:
        """Read a method frame. Deliveries and confirms are parsed here, the rest by pamqp."""
        index = INDEX.unpack_from(data, at)[0]
        if index == DELIVER:
            consumer, message = read_deliver(data, at + 4)
            self.arrived += 1
            self.held += 1
            self._arriving.expect(message, self._taker(consumer))
        elif index == ACK and self._confirms is not None:
            tag, flags = SETTLE.unpack_from(data, at + 4)
            self._confirms.answer(tag, None, multiple=flags & 1 == 1)
        elif index == NACK and self._confirms is not None:
            tag, flags = SETTLE.unpack_from(data, at + 4)
            full = QueueFull("RabbitMQ refused the message: its queue is full, or has no leader")
            self._confirms.answer(tag, full, multiple=flags & 1 == 1)
        else:
            self._on_cold(cold(data, at, stop))

    def _taker(self, consumer: bytes) -> OnDelivery:
        known = self._consumers.get(consumer)
        if known is None:  # the consumer was cancelled while this message was on its way
            return lambda message: self.nack(message.tag, requeue=True)
        return known.on_delivery

    def _on_cold(self, method: object) -> None:
        if isinstance(method, commands.Channel.Close):
            self._wire.send(pamqp_frame.marshal(commands.Channel.CloseOk(), self.number))
            self.fail(of_channel(method.reply_code or 0, method.reply_text))
        elif isinstance(method, commands.Basic.Return):
            returned = Delivery(0, False, method.exchange, method.routing_key or "", b"", b"")
            self._arriving.expect(returned, self._on_returned)
        elif isinstance(method, commands.Basic.Cancel):
            gone = self._consumers.pop((method.consumer_tag or "").encode(), None)
            if gone is not None and gone.on_cancel is not None:
                gone.on_cancel()
        elif isinstance(method, commands.Channel.Flow):
            self._wire.send(
                pamqp_frame.marshal(commands.Channel.FlowOk(method.active), self.number)
            )
        elif isinstance(method, base.Frame):
            self._on_answer(method)

    def _on_answer(self, method: base.Frame) -> None:
        # Usually the oldest call; but the broker may answer consume and cancel after later calls.
        waiting = next((one for one in self._calls if method.name in one[0].valid_responses), None)
        if waiting is None:
            self._wire.end(BrokerLost(f"RabbitMQ answered {method.name}, which nobody asked for"))
            return
        self._calls.remove(waiting)
        answer = waiting[1]
        if isinstance(method, commands.Basic.GetOk):
            got = Delivery(
                method.delivery_tag or 0,
                method.redelivered,
                method.exchange,
                method.routing_key or "",
                b"",
                b"",
            )
            self._arriving.expect(got, lambda message: _answer(answer, message))
        else:
            _answer(answer, method)

    def _on_returned(self, message: Delivery) -> None:
        error = Unroutable(
            f"RabbitMQ has no queue behind exchange {message.exchange!r} for {message.key!r}"
        )
        known = self._confirms is not None and self._confirms.returned(
            message.properties.message_id, error
        )
        if not known and self.on_return is not None:
            self.on_return(error)


def _answer(waiting: asyncio.Future[Answer], answer: Answer) -> None:
    if not waiting.done():
        waiting.set_result(answer)
