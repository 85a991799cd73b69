"""Hub mailboxes as recipients: QUOTA holds a queue back, CONTINUE lets it go on at once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from postroad.hub.client import HubClient, Told
from postroad.model.errors import BadInput, HubAway, HubLost, HubRefused, MailboxFull, Shortage
from postroad.model.outcome import (
    DELIVERED,
    Outcome,
    failed,
    quota,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.words import LaneKey, Message, Policy, Queue
from postroad.ports.transport import Reopened


class HubTransport:
    """Queues are named `hub://host:port/mailbox`; all of one hub share its lane. `token` is the
    hub's own for senders, `tokens` those of single mailboxes."""

    name = "hub"
    shards = 1

    def __init__(
        self, token: str = "", tokens: Mapping[str, str] | None = None, *, secure: bool = False
    ) -> None:
        self._token = token
        self._tokens = tokens or {}
        self._scheme = "wss" if secure else "ws"
        self._ways: dict[str, Way] = {}
        self._reopened: Reopened = lambda _tenant, _queue, _still: None
        self._closing: asyncio.Task[None] | None = None

    def address(self, queue: str, tenant: str) -> LaneKey:
        """The hub's lane."""
        try:
            parts = urlsplit(queue)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        mailbox = parts.path.removeprefix("/")
        if parts.scheme != self.name or not parts.hostname or not port or not mailbox:
            raise BadInput(f"{queue!r}: name a mailbox as hub://host:port/mailbox")
        if parts.username or "/" in mailbox or parts.query or parts.fragment:
            raise BadInput(f"{queue!r}: nothing but host, port and mailbox; tokens go elsewhere")
        return LaneKey(self.name, f"{parts.hostname}:{port}", tenant=tenant)

    def policy(self, _queue: str, /) -> Policy:
        """As a webhook's."""
        return Policy()

    def pools(self) -> list[str]:
        """All hubs."""
        return [self.name]

    def concurrency(self, _pool: str, /) -> int:
        """No limit of its own."""
        return 0

    def on_reopen(self, call: Reopened) -> None:
        """Call when a mailbox takes messages again."""
        self._reopened = call

    async def open(self, lane: LaneKey) -> "HubSession":
        """The way to a hub is shared by its lanes, and outlives them while a mailbox is full."""
        way = self._ways.get(lane.server)
        if way is None:
            way = self._ways[lane.server] = Way(f"{self._scheme}://{lane.server}/", self._tell)
        way.sessions += 1
        return HubSession(way, self._token_of, self._left)

    def _token_of(self, mailbox: str) -> str:
        return self._tokens.get(mailbox, self._token)

    def _tell(self, way: "Way", mailbox: str) -> None:
        for tenant, queue in sorted(way.places[mailbox]):
            self._reopened(tenant, queue, lambda: mailbox not in way.full)
        if not way.needed:
            self._closing = asyncio.get_running_loop().create_task(self._left(way))

    async def _left(self, way: "Way") -> None:
        if not way.needed:
            self._ways = {server: each for server, each in self._ways.items() if each is not way}
            await way.close()

    async def close(self) -> None:
        """Give back every way, also those that listen for a CONTINUE."""
        ways, self._ways = self._ways, {}
        for way in ways.values():
            await way.close()


class Way:
    """One connection to one hub, made when it is first needed."""

    def __init__(self, url: str, reopened: Callable[["Way", str], None]) -> None:
        self.url = url
        self.sessions = 0
        self.places: dict[str, set[tuple[str, str]]] = {}
        """Tenant and queue of each mailbox that is sent to."""
        self.full: set[str] = set()
        self._reopened = reopened
        self._client: HubClient | None = None
        self._lock = asyncio.Lock()

    @property
    def needed(self) -> bool:
        """A lane is open, or a CONTINUE is to come."""
        return bool(self.sessions or self.full)

    async def client(self, mailbox: str, place: tuple[str, str]) -> HubClient:
        """The connection, or HubAway."""
        self.places.setdefault(mailbox, set()).add(place)
        async with self._lock:
            if self._client is None:
                client = HubClient(self.url, told=Told(full=self.full.add, continued=self._go_on))
                await client.open()
                self._client = client
            return self._client

    def _go_on(self, mailbox: str) -> None:
        if mailbox in self.full:
            self.full.discard(mailbox)
            self._reopened(self, mailbox)

    async def close(self) -> None:
        """Hang up."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class HubSession:
    """Sends to the mailboxes of one hub."""

    def __init__(
        self, way: Way, token: Callable[[str], str], left: Callable[[Way], Awaitable[None]]
    ) -> None:
        self._way = way
        self._token = token
        self._left = left

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """One message into its mailbox, and what the hub says."""
        mailbox = queue.name.rpartition("/")[2]
        try:
            client = await self._way.client(mailbox, (queue.tenant, queue.name))
            while True:
                try:
                    # Its place in the mailbox; a refusal is raised.
                    _ = await client.send(mailbox, self._token(mailbox), _body(message.body))
                    return DELIVERED  # noqa: TRY300 - the other way is round again
                except MailboxFull as error:
                    if mailbox in self._way.full:
                        return quota(str(error))
                    # It was emptied before this was read: CONTINUE is here already.
        except HubAway as error:
            if lacks := Shortage.of(error.__cause__):
                raise lacks from None
            return unreachable(str(error))
        except HubLost as error:
            return unknown(str(error))
        except HubRefused as error:
            return _refused(error)

    def overdue(self, seconds: float) -> Outcome:
        """It may have been stored."""
        return unknown(f"the hub did not answer in {seconds:g} s")

    async def close(self) -> None:
        """Give back this lane's part of the way."""
        self._way.sessions -= 1
        await self._left(self._way)


def _body(body: bytes) -> str | bytes:
    """As text, where it is one: a subscriber then reads it without decoding."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body


def _refused(error: HubRefused) -> Outcome:
    match error.code:
        case "unavailable":
            return unreachable(str(error))
        case "too_large" | "malformed":
            return rejected(str(error))
        case _:
            return failed(str(error), status=403)
