"""Hub mailboxes as recipients. QUOTA holds a queue, and CONTINUE lets it go on at once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from postroad.hub.client import HubCallbacks, HubClient
from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.errors import (
    BadInput,
    BadSetting,
    BadUrl,
    HubAway,
    HubLost,
    HubRefused,
    MailboxFull,
    Shortage,
    UnknownMailbox,
)
from postroad.model.hubs import KnownHub, server_name
from postroad.model.outcome import (
    DELIVERED,
    Outcome,
    failed,
    quota,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.redaction import Redaction
from postroad.ports.transport import Reopened
from postroad.transports.named_hubs import HubPlace, NamedHub, OwnHub
from postroad.transports.webhook.resolving import Resolve, SystemResolver

OwnerOf = Callable[[str], Awaitable[str | None]]
"""The tenant of a mailbox in this road's own store; None when there is no such mailbox."""
Place = tuple[str, str]
"""A queue's tenant and name."""
NAME_CHARACTERS_MAX: Final = 64


class HubTransport:
    """Queues are named `hub://host:port/mailbox`; all of one hub share its lane. Only hubs that
    are named here are connected to."""

    name = "hub"
    shards = 1
    claims = True
    """Whether this process sends to hubs; not beside the one of its own that serves the hub."""

    def __init__(
        self,
        hubs: Sequence[KnownHub] = (),
        *,
        deny: Sequence[str] = (),
        resolve: Resolve | None = None,
        owner_of: OwnerOf | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        self._redaction = redaction or Redaction()
        resolve = resolve or SystemResolver()
        self._hubs: dict[str, HubPlace] = {hub.server: NamedHub(hub, deny, resolve) for hub in hubs}
        self._owner_of = owner_of
        self._connections: dict[str, HubConnection] = {}
        self._reopened: Reopened = lambda _tenant, _queue, _still: None
        self._closing: asyncio.Task[None] | None = None

    def serve(self, own: OwnHub, servers: Sequence[str]) -> None:
        """Add the hub that this process serves, under these names (host and port)."""
        self._hubs.update(dict.fromkeys(servers, own))

    def address(self, queue: str, tenant: str) -> LaneKey:
        """Return the hub's lane."""
        server, _ = self._read(queue)
        return LaneKey(self.name, server, tenant=tenant)

    async def admit(self, queue: str, tenant: str) -> None:
        """Check that the settings name this hub for this tenant, and that the mailbox is not
        another's."""
        server, mailbox = self._read(queue)
        hub = self._hubs.get(server)
        if hub is None or not hub.admits(tenant):
            raise BadInput(_unnamed(server, tenant, known=hub is not None))
        if self._owner_of is None:
            return
        owner = await self._owner_of(mailbox)
        if owner != tenant and (hub.own or owner is not None):
            raise UnknownMailbox(f"there is no mailbox {mailbox!r} of tenant {tenant!r} here")

    def _read(self, queue: str) -> tuple[str, str]:
        """Split a queue's name into host with port, and mailbox."""
        try:
            parts = urlsplit(queue)
            port = parts.port
        except ValueError:
            raise BadInput(f"{queue!r:.200}: name a mailbox as hub://host:port/mailbox") from None
        mailbox = parts.path.removeprefix("/")
        if parts.scheme != self.name or not parts.hostname or not port or not mailbox:
            raise BadInput(f"{queue!r:.200}: name a mailbox as hub://host:port/mailbox")
        if parts.username is not None or "/" in mailbox or parts.query or parts.fragment:
            raise BadInput(
                f"hub://{parts.hostname}:{port}/…: nothing but host, port and mailbox; tokens go "
                "into the setting hubs"
            )
        if len(mailbox) > NAME_CHARACTERS_MAX or not mailbox.isascii():
            raise BadInput(f"{queue!r:.200}: a mailbox has at most {NAME_CHARACTERS_MAX} letters")
        return server_name(parts.hostname, port), mailbox

    def policy(self, _queue: str, /) -> Policy:
        """Use the same policy as webhooks."""
        return Policy()

    def pools(self) -> list[str]:
        """All hubs share one pool."""
        return [self.name] if self.claims else []

    def concurrency(self, _pool: str, /) -> int:
        """Hubs have no limit of their own."""
        return 0

    def on_reopen(self, call: Reopened) -> None:
        """Set what is called when a mailbox takes messages again."""
        self._reopened = call

    async def open(self, lane: LaneKey) -> "HubSession | NoHub":
        """Open a session. Lanes of one hub share its connection, which outlives them while a
        mailbox is full."""
        hub = self._hubs.get(lane.server)
        if hub is None or not hub.admits(lane.tenant):
            return NoHub(_unnamed(lane.server, lane.tenant, known=hub is not None))
        connection = self._connections.get(lane.server)
        if connection is None:
            connection = self._connections[lane.server] = HubConnection(hub, self._tell)
        connection.sessions += 1
        return HubSession(connection, self._left, self._redaction)

    def _tell(self, connection: "HubConnection", mailbox: str, places: set[Place]) -> None:
        for tenant, queue in sorted(places):
            self._reopened(tenant, queue, partial(connection.is_open, mailbox, (tenant, queue)))
        if not connection.needed:
            self._closing = asyncio.get_running_loop().create_task(self._left(connection))

    async def _left(self, connection: "HubConnection") -> None:
        if not connection.needed:
            self._connections = {
                server: each for server, each in self._connections.items() if each is not connection
            }
            await connection.close()

    async def close(self) -> None:
        """Close every connection, also those that wait for a CONTINUE."""
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            await connection.close()


class HubConnection:
    """One connection to one hub, made when it is first needed."""

    def __init__(
        self, hub: HubPlace, reopened: Callable[["HubConnection", str, set[Place]], None]
    ) -> None:
        self.hub = hub
        self.sessions = 0
        self.full: dict[str, set[Place]] = {}
        """The full mailboxes, and the queues that wait for their CONTINUE."""
        self._reopened = reopened
        self._client: HubClient | None = None
        self._lock = asyncio.Lock()

    @property
    def needed(self) -> bool:
        """Whether a lane is open, or a CONTINUE is to come."""
        return bool(self.sessions or self.full)

    def is_open(self, mailbox: str, place: Place) -> bool:
        """Whether a mailbox takes messages. If it does not, its next CONTINUE is for this queue."""
        if mailbox in self.full:
            self.full[mailbox].add(place)
            return False
        return True

    async def client(self) -> HubClient:
        """Return the client, connected at first use; raises HubAway if that fails."""
        async with self._lock:
            if self._client is None:
                callbacks = HubCallbacks(full=self._is_full, continued=self._go_on)
                hub = self.hub
                client = HubClient(
                    hub.url, callbacks=callbacks, reach=hub.addresses, tls=await hub.tls()
                )
                await client.open()
                self._client = client
            return self._client

    def _is_full(self, mailbox: str) -> None:
        self.full.setdefault(mailbox, set())

    def _go_on(self, mailbox: str) -> None:
        if mailbox in self.full:
            self._reopened(self, mailbox, self.full.pop(mailbox))

    async def close(self) -> None:
        """Disconnect."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class HubSession:
    """Sends to the mailboxes of one hub."""

    def __init__(
        self,
        connection: HubConnection,
        left: Callable[[HubConnection], Awaitable[None]],
        redaction: Redaction,
    ) -> None:
        self._connection = connection
        self._redaction = redaction
        self._left = left

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Send one message into its mailbox, and return the outcome."""
        outcome = await self._try(queue, message)
        return self._redaction.outcome(queue.name, message.body, outcome)

    async def _try(self, queue: Queue, message: Message) -> Outcome:
        mailbox = queue.name.rpartition("/")[2]
        token = self._connection.hub.token(mailbox)
        try:
            client = await self._connection.client()
            while True:
                try:
                    # Its place in the mailbox; a refusal is raised.
                    _ = await client.send(mailbox, token, _body(message.body))
                    return DELIVERED  # noqa: TRY300 - the other way is round again
                except MailboxFull as error:
                    is_open = self._connection.is_open(mailbox, (queue.tenant, queue.name))
                    if not is_open or not error.watched:
                        return quota(str(error))
                    # It was emptied before this was read: CONTINUE is here already.
        except HubAway as error:
            if lacks := Shortage.of(error.__cause__):
                raise lacks from None
            if isinstance(error.__cause__, BadUrl):
                return failed(str(error), answered=False)
            return unreachable(str(error))
        except BadSetting as error:
            return unreachable(str(error))
        except HubLost as error:
            return unknown(str(error))
        except HubRefused as error:
            return _refused(error)

    def overdue(self, seconds: float) -> Outcome:
        """The outcome is unknown: the hub may have stored it."""
        return unknown(f"the hub did not answer in {seconds:g} s")

    async def close(self) -> None:
        """Give back this lane's share of the connection."""
        self._connection.sessions -= 1
        await self._left(self._connection)


class NoHub:
    """A lane of a hub that this process may not send to: its messages wait for the setting."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def send(self, queue: Queue, message: Message) -> Outcome:  # noqa: ARG002
        """Refuse to send: there is no connection to make."""
        return unreachable(self._why)

    def overdue(self, seconds: float) -> Outcome:  # noqa: ARG002
        """Say that nothing was sent."""
        return unreachable(self._why)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _unnamed(server: str, tenant: str, *, known: bool) -> str:
    if known:
        return (
            f"the setting hubs does not let tenant {tenant!r} send to {server}: add it to this "
            "hub's tenants"
        )
    return (
        f"{server} is no hub that the settings name: add it to the setting hubs, as in "
        f"POSTROAD_HUBS=wss://:TOKEN@{server}"
    )


def _body(body: bytes) -> str | bytes:
    """Send text as text, so that a subscriber reads it without decoding."""
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
