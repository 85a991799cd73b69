"""The other way to build a hub: the same rules, with one task for each subscription."""

import asyncio
from collections.abc import Callable

from postroad.hub.core import Core
from postroad.hub.subscriber import Client, Subscription
from postroad.model.mailbox import Answer, Heads, HubLimits, Letter, Peek, Posted


class TaskCore(Core):
    """Each subscription has a task that waits for its mailbox."""

    def __init__(
        self, now_s: Callable[[], float], limits: HubLimits, poke: Callable[[], None]
    ) -> None:
        super().__init__(now_s, limits)
        self._poke = poke
        self._bells: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def _register(self, client: Client, name: str) -> None:
        super()._register(client, name)
        bell = self._bells[name] = asyncio.Event()
        serve = self._serve(self.subs[name], bell)
        self._tasks[name] = asyncio.get_running_loop().create_task(serve)

    def _forget(self, sub: Subscription) -> None:
        super()._forget(sub)
        self._end(sub.name)

    def disconnect(self, client: Client) -> None:
        for name in client.subs:
            self._end(name)
        super().disconnect(client)

    def _end(self, name: str) -> None:
        self._tasks.pop(name).cancel()
        del self._bells[name]

    async def _serve(self, sub: Subscription, bell: asyncio.Event) -> None:
        while True:
            await bell.wait()
            bell.clear()
            if sub.delivered:
                continue
            read: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
            self.work.append((Peek([sub.name]), read.set_result))
            self._poke()
            heads = await read
            letter = heads.letters[0] if isinstance(heads, Heads) else None
            if letter is not None and not sub.delivered:
                self._deliver(sub, letter)

    def _arrived(self, name: str, posted: Posted) -> None:  # noqa: ARG002
        if name in self._bells:
            self._bells[name].set()

    def _following(self, sub: Subscription, letter: Letter | None) -> Letter | None:
        self.unacked.pop(sub, None)
        sub.delivered, sub.since = 0, None
        if letter is not None:
            self._bells[sub.name].set()
        return None

    def _drain(self, client: Client) -> None:
        while client.ready:
            self._bells[client.ready.popitem(last=False)[0]].set()
