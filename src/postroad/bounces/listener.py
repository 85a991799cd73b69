"""Listens for bounces and complaints. Anybody may connect, and nothing is read of them but a few
commands until they name a return path that this road has signed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final

from postroad.bounces.connection import GOING, BounceConnection
from postroad.bounces.dialogue import BounceHost, MailProtocol, Verdict
from postroad.model.bounce_address import BounceAddress
from postroad.model.errors import StoreError
from postroad.model.mail_links import MailLinks
from postroad.model.networks import network
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock
from postroad.ports.log import Log

LOOK_S: Final = 1.0
AGAIN_S: Final = 5.0
MINUTE_S: Final = 60.0
STORE_S: Final = 30.0
STOP_S: Final = 5.0
BACKLOG: Final = 256
NETWORK_MAX: Final = 20
"""Connections from one network at once; those of this machine are our own mail server's."""
MAILS_MAX: Final = 10
"""Mails to one return path in a minute: a mail comes back once, or a few times."""
FEEDBACK_MAX: Final = 60
"""Mails to the address for complaints in a minute, from one network that is not this machine."""
COUNTED_MAX: Final = 10_000
TAKEN: Final = "250 2.0.0 stored"
FULL: Final = "421 4.3.2 too many connections: try again later"
AWAY: Final = "451 4.3.0 the store is away: try again later"
LOST: Final = (StoreError, TimeoutError)
Take = Callable[[bytes, str], Awaitable[object]]
"""Stores what a mail says; returns when it is on the disk."""
LOOPBACK_6: Final = network("::1")


class BounceListener:
    """Serves one address. Where another process of this machine has it, it waits for it."""

    def __init__(
        self,
        where: BounceAddress,
        domain: str,
        links: MailLinks,
        take: Take,
        clock: Clock,
        log: Log,
    ) -> None:
        self.where = where
        self._domain = domain
        self._links = links
        self._take = take
        self._clock = clock
        self._log = log
        self._tasks = Tasks(log)
        self._storing: set[asyncio.Task[None]] = set()
        self._connections: dict[BounceConnection, str] = {}
        """Each with its network, the oldest first."""
        self._recent: Counter[str] = Counter()
        self._since_s = 0.0
        self.port = 0
        """Where it listens; 0 while it does not."""

    async def run(self) -> None:
        """Listen until cancelled."""
        server = await self._bound()
        try:
            while True:
                await self._clock.sleep(LOOK_S)
                now_s = self._clock.steady_s()
                for connection in list(self._connections):
                    connection.end_if_late(now_s)
        finally:
            self.port = 0
            server.close()
            await self._end()

    async def _bound(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        name = self._domain
        host = BounceHost(name, MailProtocol(self.where.scheme), self.verdict)
        told = False
        while True:
            try:
                server = await loop.create_server(
                    lambda: BounceConnection(host, self),
                    self.where.host,
                    self.where.port,
                    backlog=BACKLOG,
                )
            except OSError as error:
                if not told:
                    facts = {"address": self.where.url, "error": str(error.strerror or error)}
                    self._log.warning("cannot listen for bounces: trying again", **facts)
                    told = True
                await self._clock.sleep(AGAIN_S)
                continue
            self.port = server.sockets[0].getsockname()[1]
            self._log.info("listening for bounces", address=self.where.url, port=self.port)
            return server

    async def _end(self) -> None:
        """Let mails that are being stored be answered, and everybody else go."""
        for connection in list(self._connections):
            if not connection.storing:
                connection.end(GOING)
        if self._storing:
            await asyncio.wait(self._storing, timeout=STOP_S)
        for connection in list(self._connections):
            connection.end(GOING)

    # What connections ask

    def now_s(self) -> float:
        """The steady time."""
        return self._clock.steady_s()

    def joined(self, connection: BounceConnection) -> str:
        """Count a connection. When there are too many, the oldest goes that has not shown that we
        have written to it."""
        name = connection.dialogue.network = network(connection.peer)
        there = list(self._connections.values()).count(name)
        if there >= NETWORK_MAX and not _is_loopback(name):
            return FULL
        if len(self._connections) >= self.where.options.connections:
            stranger = next((one for one in self._connections if not one.dialogue.proven), None)
            if stranger is None:
                return FULL
            del self._connections[stranger]
            stranger.cut()
        self._connections[connection] = name
        return ""

    def left(self, connection: BounceConnection) -> None:
        """A connection has ended."""
        self._connections.pop(connection, None)

    def verdict(self, address: str, name: str) -> Verdict:
        """Whether mail to an address is taken from a network."""
        reference = self._links.returned(address)
        if reference:
            # By the message: the part that names the recipient is not looked at yet.
            often = self._often(str(self._links.number(reference)))
            return Verdict.busy if often > MAILS_MAX else Verdict.ours
        if address.lower() != self.where.feedback(self._domain):
            return Verdict.unknown
        often = self._often(name) > FEEDBACK_MAX and not _is_loopback(name)
        return Verdict.busy if often else Verdict.feedback

    def _often(self, what: str) -> int:
        """How often this was counted in this minute."""
        now_s = self._clock.steady_s()
        if now_s - self._since_s >= MINUTE_S or len(self._recent) > COUNTED_MAX:
            self._since_s = now_s
            self._recent.clear()
        self._recent[what] += 1
        return self._recent[what]

    def store(self, connection: BounceConnection, to: str, raw: bytes) -> None:
        """Store what a mail says, and answer when it is on the disk."""
        task = self._tasks.start(self._store(connection, to, raw), "a bounce")
        self._storing.add(task)
        task.add_done_callback(self._storing.discard)

    async def _store(self, connection: BounceConnection, to: str, raw: bytes) -> None:
        try:
            async with asyncio.timeout(STORE_S):
                _ = await self._take(raw, to)  # its result is in the store
        except LOST as error:
            self._log.store_failed("take a bounce", error)
            connection.answered(AWAY)
        except Exception:  # noqa: BLE001 - a fault of ours must not cost the report
            self._log.exception("a bounce could not be taken")
            connection.answered(AWAY)
        else:
            self._log.store_works("take a bounce")
            connection.answered(TAKEN)


def _is_loopback(peer: str) -> bool:
    try:
        return peer == LOOPBACK_6 or ip_address(peer).is_loopback
    except ValueError:
        return False
