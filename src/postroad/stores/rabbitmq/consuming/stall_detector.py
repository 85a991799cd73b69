"""A watch over consumers that look alive and get nothing."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, cast

from msgspec import Struct
from pamqp import commands

from postroad.model.errors import StoreError
from postroad.ports.clock import Clock
from postroad.stores.rabbitmq.wire.channel import Channel
from postroad.stores.rabbitmq.wire.connection import Link

WATCH_S: Final = 15.0
"""A consumer that got nothing between two looks is asked about."""


class Watched(Struct, frozen=True):
    """A line and the channel that consumes it. `single`: the line has one active consumer, who
    need not be this one."""

    line: str
    channel: Channel
    single: bool


class Watch:
    """Looks at what is consumed on one link, over a channel of that link."""

    def __init__(self, link: Link, watched: Callable[[], Sequence[Watched]]) -> None:
        self._link = link
        self._control: Channel | None = None
        self._watched = watched
        self._seen: dict[Channel, int] = {}

    async def run(self, clock: Clock, on_stuck: Callable[[str], None]) -> None:
        """Until the link is gone."""
        while self._link.lost is None:
            await clock.sleep(WATCH_S)
            with suppress(StoreError):  # a line was deleted just now: its consumer hears of it
                if stuck := await self.look():
                    on_stuck(f"{stuck} has messages, and its consumer gets none")

    async def look(self) -> str:
        """The first line that has messages and gave its consumer none since the last look."""
        lines = self._watched()
        idle = [each for each in lines if self._is_idle(each.channel)]
        self._seen = {each.channel: each.channel.arrived for each in lines}
        if self._control is None or self._control.lost is not None:
            self._control = await self._link.channel()
        asked = [
            self._control.ask(commands.Queue.Declare(queue=each.line, passive=True))
            for each in idle
        ]
        for each, answer in zip(idle, asked, strict=True):
            told = cast("commands.Queue.DeclareOk", await answer)
            if each.channel.lost is None and (
                told.consumer_count == 0 or (told.message_count and _is_served(each))
            ):
                return each.line
        return ""

    def _is_idle(self, channel: Channel) -> bool:
        unchanged = self._seen.get(channel) == channel.arrived
        return channel.lost is None and channel.held <= 0 and unchanged


def _is_served(each: Watched) -> bool:
    """Whether it should be given what is there. Of several single consumers only one is, and it
    stays that one until it leaves: who was given something before."""
    return not each.single or each.channel.arrived > 0
