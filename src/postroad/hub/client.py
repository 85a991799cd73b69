"""A client of a hub: send to mailboxes, and receive from many of them over one connection."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn, Self

from msgspec import Struct

from postroad.hub.frames import (
    Acked,
    Acknowledge,
    Asked,
    Continue,
    CreateBox,
    Created,
    DeleteBox,
    End,
    GetOne,
    Message,
    Ok,
    Quota,
    Said,
    SendTo,
    Subscribe,
    Subscribed,
    Unsubscribe,
    WatchFor,
)
from postroad.hub.inbox import Inbox
from postroad.model.errors import HubAway, HubError, HubLost, HubRefused, MailboxFull
from postroad.model.extras import Needing
from postroad.model.mailbox import HubLimits
from postroad.ports.clock import Chance, Clock, SystemClock, system_chance

if TYPE_CHECKING:
    from postroad.hub.calls import Calls, Reach

BATCH: Final = HubLimits().batch_max
BACKOFF_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Received(Struct, frozen=True):
    """A message from a mailbox. It comes again, after a reconnect, until it is acked."""

    box: str
    id: int
    at_ms: int
    body: bytes
    client: "HubClient"

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    async def ack(self) -> bool:
        """Let the hub delete it. False: the connection broke meanwhile, and it comes again."""
        return await self.client.ack(self.box, self.id)


class HubCallbacks(Struct):
    """Functions that a client calls when a mailbox ends, is full or takes messages again."""

    ended: Callable[[str, str], None] = lambda _box, _why: None
    full: Callable[[str], None] = lambda _box: None
    continued: Callable[[str], None] = lambda _box: None


class HubClient:
    """Use it as `async with HubClient(url) as hub:`. A connection that breaks is made again, at
    growing intervals, and what was subscribed to is subscribed to again. `tls`: whom to trust with
    `wss://`, the system's certificates unless told; `reach`: where to connect to, instead of where
    the URL's name leads."""

    def __init__(
        self,
        url: str,
        *,
        callbacks: HubCallbacks | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
        reach: "Reach | None" = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url
        self._reach = reach
        self._tls = tls
        self.callbacks = callbacks or HubCallbacks()
        self.reconnects = 0
        self._clock = clock or SystemClock()
        self._chance = chance or system_chance()
        self._calls: Calls | None = None
        self._tokens: dict[str, str] = {}
        self._senders: dict[str, str] = {}
        self._watched: dict[str, None] = {}
        self._inbox: Inbox[Received] = Inbox()
        self._news = asyncio.Event()
        self._mender: asyncio.Task[None] | None = None
        self._broken: Exception | None = None
        self._closed = False
        self._dials = 0
        """Since a hub last answered something: the next one waits the longer."""

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Connect, or raise HubAway."""
        self._calls = await self._dial()

    async def _dial(self) -> "Calls":
        with Needing("a connection to a hub"):
            from postroad.hub.calls import Calls  # a WebSocket library, which few roads need

        return await Calls.connect(self.url, self._heard, self._lost, self._reach, self._tls)

    async def close(self) -> None:
        """Disconnect; what was not acked waits for the next subscriber."""
        self._closed = True
        mender, self._mender = self._mender, None
        if mender is not None:
            mender.cancel()
            # They were cancelled: how they ended is no news.
            _ = await asyncio.gather(mender, return_exceptions=True)
        calls, self._calls = self._calls, None
        if calls is not None:
            await calls.close()
        self._news.set()

    # Mailboxes

    async def create(self, token: str, *, quota: int = 0, ttl: int = 0) -> Created:
        """Create a mailbox; answers its tokens. `token` is the hub's own, for creating them."""
        said = await self._ask(CreateBox(token=token, quota=quota, ttl=ttl))
        if not isinstance(said, Created):
            _strange(said)
        return said

    async def delete(self, box: str, token: str) -> None:
        """Delete a mailbox with all that is in it; `token` is its recipient's."""
        # One answer alone is no error, and an error is raised.
        _ = await self._ask(DeleteBox(box=box, token=token))

    # Sending

    async def send(self, box: str, token: str, body: str | bytes) -> int:
        """Store a message in a mailbox; answers its id. MailboxFull: not until it is empty."""
        self._senders[box] = token
        if isinstance(body, str):
            said = await self._ask(SendTo(box=box, token=token, body=body))
        else:
            said = await self._ask(SendTo(box=box, token=token, data=body))
        if isinstance(said, Quota):
            raise MailboxFull(f"{box} takes nothing until it is empty")
        if not isinstance(said, Ok):
            _strange(said)
        return said.id

    async def watch(self, boxes: Mapping[str, str]) -> None:
        """Be told when these may be sent to, now or later; also after a reconnect."""
        self._senders.update(boxes)
        self._watched.update(dict.fromkeys(boxes))
        await self._watch_again(list(boxes.items()))

    # Receiving

    async def subscribe(self, boxes: Mapping[str, str]) -> list[str]:
        """Receive from these: recipient tokens by name. Answers those that were refused."""
        self._tokens.update(boxes)
        return await self._subscribe(list(boxes.items()))

    async def unsubscribe(self, names: Sequence[str]) -> None:
        """Stop receiving from these mailboxes."""
        for name in names:
            self._tokens.pop(name, None)
        self._inbox.expect(names)
        for start in range(0, len(names), BATCH):
            # One answer alone is no error, and an error is raised.
            _ = await self._ask(Unsubscribe(boxes=list(names[start : start + BATCH])))

    async def get(self, box: str, token: str, wait: float = 0.0) -> Received | None:
        """The oldest message of one mailbox, without subscribing."""
        said = await self._ask(GetOne(box=box, token=token, wait=wait))
        return self._received(said) if isinstance(said, Message) else None

    async def ack(self, box: str, number: int) -> bool:
        """The message was received, and may be deleted."""
        try:
            said = await self._ask(Acknowledge(box=box, id=number))
        except (HubAway, HubLost):
            return False
        except HubRefused as error:
            if error.code in ("not_subscribed", "wrong_id"):
                return False
            raise
        if isinstance(said, Acked) and said.next is not None:
            self._heard(said.next)
        return True

    def __aiter__(self) -> AsyncIterator[Received]:
        return self

    async def __anext__(self) -> Received:
        while not self._inbox:
            if self._closed:
                raise StopAsyncIteration
            if self._broken is not None:
                raise HubLost(f"{self.url} is not connected to again") from self._broken
            self._news.clear()
            if not await self._ask_again():
                await self._news.wait()
        return self._inbox.take()

    async def _ask_again(self) -> bool:
        """Subscribe again to mailboxes that were dropped; False when none was."""
        asked = [(box, self._tokens[box]) for box in self._inbox.let_go(self._tokens)]
        try:
            for box in await self._subscribe(asked) if asked else ():
                self.callbacks.ended(box, "refused")
        except HubError:
            return False  # it is gone, and all are subscribed to again when it is back
        return bool(asked)

    # How it works

    async def _ask(self, command: Asked) -> Said:
        if self._calls is None:
            raise HubAway(f"{self.url} is away; nothing was sent")
        said = await self._calls.ask(command)
        self._dials = 0
        return said

    def _received(self, said: Message) -> Received:
        body = (said.data or b"") if said.body is None else said.body.encode()
        return Received(said.box, said.id, said.at, body, self)

    def _heard(self, said: Said) -> None:
        match said:
            case Message(box=box) if box in self._tokens:
                self._inbox.put(self._received(said))
                self._news.set()
            case End(box=box, why=why) if box in self._tokens:
                del self._tokens[box]
                self.callbacks.ended(box, why)
            case Quota(box=box) if box in self._senders:
                self._watched[box] = None
                self.callbacks.full(box)
            case Continue(box=box) if box in self._watched:
                del self._watched[box]
                self.callbacks.continued(box)
            case _:
                self._inbox.stray()  # nobody asked
        if self._calls is not None and self._inbox.flooded(len(self._tokens)):
            self._calls.hang_up("the hub sends what nobody asked for")

    def _lost(self) -> None:
        self._calls = None
        self._inbox.clear()
        if not self._closed and self._mender is None:
            loop = asyncio.get_running_loop()
            self._mender = loop.create_task(self._mend(), name="postroad hub client")

    async def _mend(self) -> None:
        try:
            await self._until_connected()
        except Exception as error:
            self._broken = error  # who asks or receives is told: nobody connects again
            self._news.set()
            raise
        finally:
            self._mender = None

    async def _until_connected(self) -> None:
        while not self._closed:
            wait_s = BACKOFF_S[min(self._dials, len(BACKOFF_S) - 1)]
            await self._clock.sleep(wait_s * (0.5 + self._chance.random()))
            self._dials += 1
            if await self._connect_again():
                self.reconnects += 1
                break

    async def _connect_again(self) -> bool:
        try:
            calls = self._calls = await self._dial()
        except HubAway:
            return False
        try:
            for name in await self._subscribe(list(self._tokens.items())):
                self.callbacks.ended(name, "refused")  # its mailbox or token went meanwhile
            await self._watch_again([(box, self._senders[box]) for box in self._watched])
        except HubError:
            # Left open, it would be told that its mailboxes were taken over: by our next one.
            await calls.close()
        return calls.alive

    async def _subscribe(self, pairs: list[tuple[str, str]]) -> list[str]:
        refused: list[str] = []
        for start in range(0, len(pairs), BATCH):
            said = await self._ask(Subscribe(boxes=pairs[start : start + BATCH]))
            if isinstance(said, Subscribed):
                refused += said.refused
        for name in refused:
            self._tokens.pop(name, None)
        return refused

    async def _watch_again(self, pairs: list[tuple[str, str]]) -> None:
        for start in range(0, len(pairs), BATCH):
            # One answer alone is no error, and an error is raised.
            _ = await self._ask(WatchFor(boxes=pairs[start : start + BATCH]))


def _strange(said: Said) -> NoReturn:
    raise HubError(f"the hub said {type(said).__name__}, which answers nothing that was asked")
