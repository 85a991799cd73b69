"""Finds consumers that look alive and get no messages."""

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
"""The interval between two checks."""


class ConsumedQueue(Struct, frozen=True):
    """A broker queue and the channel that consumes it. `single`: the queue has a single active
    consumer, which need not be this one."""

    name: str
    channel: AmqpChannel
    single: bool


class StallDetector:
    """Checks the consumers of one connection, over a channel of that connection."""

    def __init__(
        self, connection: AmqpConnection, watched: Callable[[], Sequence[ConsumedQueue]]
    ) -> None:
        self._connection = connection
        self._control: AmqpChannel | None = None
        self._watched = watched
        self._seen: dict[AmqpChannel, int] = {}

    async def run(self, clock: Clock, on_stuck: Callable[[str], None]) -> None:
        """Check until the connection is lost."""
        while self._connection.lost is None:
            await clock.sleep(WATCH_S)
            with suppress(StoreError):  # the queue was just deleted: its consumer learns it
                if stuck := await self.find_stalled():
                    on_stuck(f"{stuck} has messages, and its consumer gets none")

    async def find_stalled(self) -> str:
        """The first broker queue that has messages and gave its consumer none since the last check;
        "" when there is none."""
        consumed = self._watched()
        idle = [each for each in consumed if self._is_idle(each.channel)]
        self._seen = {each.channel: each.channel.arrived for each in consumed}
        if self._control is None or self._control.lost is not None:
            self._control = await self._connection.channel()
        asked = [
            self._control.ask(commands.Queue.Declare(queue=each.name, passive=True))
            for each in idle
        ]
        for each, answer in zip(idle, asked, strict=True):
            answer_frame = cast("commands.Queue.DeclareOk", await answer)
            if each.channel.lost is None and (
                answer_frame.consumer_count == 0
                or (answer_frame.message_count and _is_served(each))
            ):
                return each.name
        return ""

    def _is_idle(self, channel: AmqpChannel) -> bool:
        unchanged = self._seen.get(channel) == channel.arrived
        return channel.lost is None and channel.held <= 0 and unchanged


def _is_served(each: ConsumedQueue) -> bool:
    """Whether this consumer should be getting messages. With a single active consumer, only the one
    that got messages before should: it stays active until it leaves."""
    return not each.single or each.channel.arrived > 0
