"""A client of a hub sends to mailboxes, and receives from many of them over one connection."""

import asyncio
import ssl
from collections import Counter
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
    MessageFrame,
    Ok,
    Quota,
    Said,
    SendTo,
    Subscribe,
    Subscribed,
    Unsubscribe,
    WatchFor,
    Watching,
)
from postroad.hub.inbox import ClientInbox
from postroad.model.errors import HubAway, HubError, HubLost, HubRefused, MailboxFull
from postroad.model.extras import Needing
from postroad.model.mailbox import HubLimits
from postroad.ports.clock import Chance, Clock, SystemClock, system_chance

if TYPE_CHECKING:
    from postroad.hub.client_connection import ClientConnection, FindAddresses

BATCH: Final = HubLimits().batch_max
BACKOFF_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Received(Struct, frozen=True):
    """A message from a mailbox. After a reconnect it comes again until it is acked."""

    box: str
    id: int
    at_ms: int
    body: bytes
    client: "HubClient"

    @property
    def text(self) -> str:
        """Decode the body as UTF-8."""
        return self.body.decode()

    async def ack(self) -> bool:
        """Let the hub delete the message. False: the connection broke meanwhile, and the message
        will come again."""
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
        reach: "FindAddresses | None" = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url
        self._reach = reach
        self._tls = tls
        self.callbacks = callbacks or HubCallbacks()
        self.reconnects = 0
        self._clock = clock or SystemClock()
        self._chance = chance or system_chance()
        self._connection: ClientConnection | None = None
        self._tokens: dict[str, str] = {}
        self._senders: dict[str, str] = {}
        """Sender tokens of the mailboxes that are watched, or are being sent to now."""
        self._sending: Counter[str] = Counter()
        self._watched: dict[str, None] = {}
        self._inbox: ClientInbox[Received] = ClientInbox()
        self._changed = asyncio.Event()
        self._reconnecting: asyncio.Task[None] | None = None
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
        """Connect; raises HubAway if that fails."""
        self._connection = await self._dial()

    async def _dial(self) -> "ClientConnection":
        with Needing("a connection to a hub"):
            from postroad.hub.client_connection import (
                ClientConnection,  # a WebSocket library, which few roads need
            )

        return await ClientConnection.connect(
            self.url, self._on_frame, self._on_lost, self._reach, self._tls
        )

    async def close(self) -> None:
        """Disconnect. Messages without an ack wait for the next subscriber."""
        self._closed = True
        task, self._reconnecting = self._reconnecting, None
        if task is not None:
            task.cancel()
            # It was cancelled: how it ended does not matter.
            _ = await asyncio.gather(task, return_exceptions=True)
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        self._changed.set()

    # Mailboxes

    async def create(self, token: str, *, quota: int = 0, ttl: int = 0) -> Created:
        """Make a mailbox, with its tokens. `token` is the hub's own token for this."""
        said = await self._ask(CreateBox(token=token, quota=quota, ttl=ttl))
        if not isinstance(said, Created):
            _unexpected(said)
        return said

    async def delete(self, box: str, token: str) -> None:
        """Delete a mailbox with all that is in it; `token` is its recipient's."""
        # One answer alone is no error, and an error is raised.
        _ = await self._ask(DeleteBox(box=box, token=token))

    # Sending

    async def send(self, box: str, token: str, body: str | bytes) -> int:
        """Store a message in a mailbox and return its id. Raises MailboxFull until the mailbox is
        empty again."""
        self._senders[box] = token
        self._sending[box] += 1
        try:
            if isinstance(body, str):
                said = await self._ask(SendTo(box=box, token=token, body=body))
            else:
                said = await self._ask(SendTo(box=box, token=token, data=body))
        finally:
            self._sending[box] -= 1
            self._forget_sender(box)
        if isinstance(said, Quota):
            text = f"{box} takes nothing until it is empty: send again later"
            raise MailboxFull(text, watched=said.watched)
        if not isinstance(said, Ok):
            _unexpected(said)
        return said.id

    async def watch(self, boxes: Mapping[str, str]) -> list[str]:
        """Ask to be told when these mailboxes can be sent to, now or later, also after a reconnect.
        Returns the names that were refused."""
        self._senders.update(boxes)
        self._watched.update(dict.fromkeys(boxes))
        refused = await self._ask_batches(WatchFor, list(boxes.items()))
        for box in refused:
            self._watched.pop(box, None)
            self._forget_sender(box)
        return refused

    # Receiving

    async def subscribe(self, boxes: Mapping[str, str]) -> list[str]:
        """Receive from these mailboxes, given as recipient tokens by name. Returns the names that
        were refused."""
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
        """Get the oldest message of one mailbox, without subscribing."""
        said = await self._ask(GetOne(box=box, token=token, wait=wait))
        return self._received(said) if isinstance(said, MessageFrame) else None

    async def ack(self, box: str, number: int) -> bool:
        """Confirm that a message was received, so that the hub deletes it."""
        try:
            said = await self._ask(Acknowledge(box=box, id=number))
        except (HubAway, HubLost):
            return False
        except HubRefused as error:
            if error.code in ("not_subscribed", "wrong_id"):
                return False
            raise
        if isinstance(said, Acked) and said.next is not None:
            _ = self._on_frame(said.next)  # this one was asked for
        return True

    def __aiter__(self) -> AsyncIterator[Received]:
        return self

    async def __anext__(self) -> Received:
        while not self._inbox:
            if self._closed:
                raise StopAsyncIteration
            if self._broken is not None:
                raise HubLost(f"{self.url} is not connected to again") from self._broken
            self._changed.clear()
            if not await self._ask_again():
                await self._changed.wait()
        return self._inbox.take()

    async def _ask_again(self) -> bool:
        """Subscribe again to mailboxes whose messages were dropped; False when there were none."""
        asked = [(box, self._tokens[box]) for box in self._inbox.let_go(self._tokens)]
        try:
            for box in await self._subscribe(asked) if asked else ():
                self.callbacks.ended(box, "refused")
        except HubError:
            return False  # it is gone, and all are subscribed to again when it is back
        return bool(asked)

    # How it works

    async def _ask(self, command: Asked) -> Said:
        if self._connection is None:
            raise HubAway(f"{self.url} is away; nothing was sent")
        said = await self._connection.ask(command)
        self._dials = 0
        return said

    def _received(self, said: MessageFrame) -> Received:
        body = (said.data or b"") if said.body is None else said.body.encode()
        return Received(said.box, said.id, said.at, body, self)

    def _on_frame(self, said: Said) -> bool:
        """Whether the hub has sent too much that nobody asked for."""
        match said:
            case MessageFrame(box=box) if box in self._tokens:
                self._inbox.put(self._received(said))
                self._changed.set()
            case End(box=box, why=why) if box in self._tokens:
                del self._tokens[box]
                self.callbacks.ended(box, why)
            case Quota(box=box, watched=watched) if box in self._senders:
                if watched:
                    self._watched[box] = None
                    self.callbacks.full(box)
            case Continue(box=box) if box in self._watched:
                self._continue(box)
            case _:
                self._inbox.stray()  # nobody asked
        return self._inbox.flooded(len(self._tokens))

    def _continue(self, box: str) -> None:
        self._watched.pop(box, None)
        self._forget_sender(box)
        self.callbacks.continued(box)

    def _forget_sender(self, box: str) -> None:
        if not self._sending[box]:
            del self._sending[box]
            if box not in self._watched:
                self._senders.pop(box, None)

    def _on_lost(self) -> None:
        self._connection = None
        self._inbox.clear()
        if not self._closed and self._reconnecting is None:
            loop = asyncio.get_running_loop()
            self._reconnecting = loop.create_task(self._reconnect(), name="postroad hub client")

    async def _reconnect(self) -> None:
        try:
            await self._until_connected()
        except Exception as error:
            self._broken = error  # callers get this error: nobody connects again
            self._changed.set()
            raise
        finally:
            self._reconnecting = None

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
            connection = self._connection = await self._dial()
        except HubAway:
            return False
        try:
            for name in await self._subscribe(list(self._tokens.items())):
                self.callbacks.ended(name, "refused")  # its mailbox or token went meanwhile
            watched = [(box, self._senders[box]) for box in self._watched]
            for box in await self._ask_batches(WatchFor, watched):
                self._continue(box)  # the same: its next send finds out
        except HubError:
            # Left open, it would be told that its mailboxes were taken over: by our next one.
            await connection.close()
        return connection.alive

    async def _subscribe(self, pairs: list[tuple[str, str]]) -> list[str]:
        refused = await self._ask_batches(Subscribe, pairs)
        for name in refused:
            self._tokens.pop(name, None)
        return refused

    async def _ask_batches(
        self, command: type[Subscribe | WatchFor], pairs: list[tuple[str, str]]
    ) -> list[str]:
        """Ask for many mailboxes; returns those that were refused."""
        refused: list[str] = []
        for start in range(0, len(pairs), BATCH):
            said = await self._ask(command(boxes=pairs[start : start + BATCH]))
            if isinstance(said, (Subscribed, Watching)):
                refused += said.refused
        return refused


def _unexpected(said: Said) -> NoReturn:
    raise HubError(f"the hub said {type(said).__name__}, which answers nothing that was asked")
