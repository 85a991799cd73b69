"""A watch over consumers that look alive and get nothing."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, cast

from msgspec import Struct
from pamqp import commands

from postroad.model.errors import StoreError
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection

WATCH_S: Final = 15.0
"""A consumer that got nothing between two looks is asked about."""


class ConsumedQueue(Struct, frozen=True):
    """A line and the channel that consumes it. `single`: the line has one active consumer, who
    need not be this one."""

    broker_queue: str
    channel: AmqpChannel
    single: bool


class StallDetector:
    """Looks at what is consumed on one link, over a channel of that link."""

    def __init__(
        self, connection: AmqpConnection, watched: Callable[[], Sequence[ConsumedQueue]]
    ) -> None:
        self._connection = connection
        self._control: AmqpChannel | None = None
        self._watched = watched
        self._seen: dict[AmqpChannel, int] = {}

    async def run(self, clock: Clock, on_stuck: Callable[[str], None]) -> None:
        """Until the link is gone."""
        while self._connection.lost is None:
            await clock.sleep(WATCH_S)
            with suppress(StoreError):  # a line was deleted just now: its consumer hears of it
                if stuck := await self.find_stalled():
                    on_stuck(f"{stuck} has messages, and its consumer gets none")

    async def find_stalled(self) -> str:
        """The first line that has messages and gave its consumer none since the last look."""
        broker_queues = self._watched()
        idle = [each for each in broker_queues if self._is_idle(each.channel)]
        self._seen = {each.channel: each.channel.arrived for each in broker_queues}
        if self._control is None or self._control.lost is not None:
            self._control = await self._connection.channel()
        asked = [
            self._control.ask(commands.Queue.Declare(queue=each.broker_queue, passive=True))
            for each in idle
        ]
        for each, answer in zip(idle, asked, strict=True):
            answer_frame = cast("commands.Queue.DeclareOk", await answer)
            if each.channel.lost is None and (
                answer_frame.consumer_count == 0
                or (answer_frame.message_count and _is_served(each))
            ):
                return each.broker_queue
        return ""

    def _is_idle(self, channel: AmqpChannel) -> bool:
        unchanged = self._seen.get(channel) == channel.arrived
        return channel.lost is None and channel.held <= 0 and unchanged


def _is_served(each: ConsumedQueue) -> bool:
    """Whether it should be given what is there. Of several single consumers only one is, and it
    stays that one until it leaves: who was given something before."""
    return not each.single or each.channel.arrived > 0
