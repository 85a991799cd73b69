"""The session of one mail lane: finds the servers of a recipient, and sends on connections that it
keeps."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec.structs import replace

from postroad.model.credential import BadCredential
from postroad.model.entities import Message, Queue
from postroad.model.errors import BadInput, BadUrl, StoreError
from postroad.model.outcome import (
    Kind,
    Outcome,
    ProviderAnswer,
    failed,
    later,
    rejected,
    unknown,
    unreachable,
)
from postroad.model.recipients import recipient_of
from postroad.model.try_details import TryDetails
from postroad.ports.clock import Clock
from postroad.transports.smtp.answers import judge
from postroad.transports.smtp.connections import Connections
from postroad.transports.smtp.dialogue import Dialogue, StepRefused
from postroad.transports.smtp.making import MailMaker, Outgoing
from postroad.transports.smtp.opening import Server
from postroad.transports.smtp.routes import NoMail
from postroad.transports.webhook.answers import outcome_of
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.resolving import Unresolved

TRIED_MAX: Final = 6
"""Addresses that one try goes to until one answers."""
AGAIN_MS: Final = 10_000
"""After so long a mail is tried again whose attachments the store could not give."""
LOOKING_S: Final = 120.0
"""After so long no further address is tried."""

Servers = Callable[[str], Awaitable[list[Server]]]
"""The servers that take mail of a domain, at vetted addresses, in their order. Raises NoMail,
Unresolved and BadUrl."""


class MailSession:
    """Sends mails on one lane."""

    def __init__(
        self,
        servers: Servers,
        connections: Connections,
        maker: MailMaker,
        clock: Clock,
        *,
        relay: bool,
    ) -> None:
        self._servers = servers
        self._connections = connections
        self._maker = maker
        self._clock = clock
        self._relay = relay

    async def send(self, _queue: Queue, message: Message) -> Outcome:
        """Make one try, at the first server that speaks with us."""
        try:
            servers = await self._servers(recipient_of(message).rpartition("@")[2])
        except (BadInput, NoMail, Unresolved) as error:
            return _not_sent(error, relay=self._relay)
        async with self._connections.place():
            try:  # here, so that no more large mails are in memory than are sent at once
                mail = await self._maker.make(message, self._clock.now_ms() // 1000)
            except (BadInput, StoreError) as error:
                return _not_sent(error, relay=self._relay)
            return await self._send(mail, servers)

    async def prepare(self, _queue: Queue, message: Message) -> Outcome | None:
        """Have a connection ready, so that a try can start at its rate slot."""
        try:
            servers = await self._servers(recipient_of(message).rpartition("@")[2])
        except (BadInput, NoMail, Unresolved) as error:
            return _not_sent(error, relay=self._relay)
        outcome = unreachable("no server was tried")
        async with self._connections.place():
            for server in servers[:TRIED_MAX]:
                try:
                    dialogue = self._connections.take(server) or await self._connections.open(
                        server
                    )
                except (Fault, StepRefused) as error:
                    outcome = self._refused(server, error)
                else:
                    self._connections.put(server, dialogue)
                    return None
        return outcome

    async def check(self) -> str:
        """Connect and log in. Of servers of other domains nothing is asked."""
        if not self._relay:
            return "mx"
        try:
            async with self._connections.place():
                server = (await self._servers(""))[0]
                dialogue = await self._connections.open(server)
        except (Fault, StepRefused, Unresolved, BadUrl) as error:
            raise BadCredential(f"the relay cannot be used: {error}") from None
        dialogue.connection.quit()
        return f"{server.host}:{server.port}"

    def overdue(self, seconds: float) -> Outcome:
        """The outcome is unknown: the mail may have arrived."""
        return unknown(f"no answer within {seconds:g} s")

    async def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    async def _send(self, mail: Outgoing, servers: Sequence[Server]) -> Outcome:
        start_s = self._clock.steady_s()
        outcome = unreachable("no server was tried")
        for server in servers[:TRIED_MAX]:
            outcome = await self._try(server, mail)
            gone_s = self._clock.steady_s() - start_s
            if outcome.kind is not Kind.unreachable or gone_s > LOOKING_S:
                break
        return outcome

    async def _try(self, server: Server, mail: Outgoing) -> Outcome:
        """Send on a connection that is open; if that turns out to be dead, on a new one."""
        dialogue = self._connections.take(server)
        if dialogue is not None:
            outcome = await self._say(server, dialogue, mail)
            if outcome.kind is not Kind.unreachable:
                return outcome
        try:
            dialogue = await self._connections.open(server)
        except (Fault, StepRefused) as error:
            return self._refused(server, error)
        return await self._say(server, dialogue, mail)

    async def _say(self, server: Server, dialogue: Dialogue, mail: Outgoing) -> Outcome:
        called_s = self._clock.steady_s()
        try:
            answer = await dialogue.send(mail.envelope, mail.content)
        except Fault as fault:
            return _fault(server, fault)
        self._connections.put(server, dialogue)
        took_ms = int((self._clock.steady_s() - called_s) * 1000)
        said = b" ".join(answer.reply.lines)
        details = TryDetails(_shown(server), "", b"", said, took_ms)
        return replace(judge(answer, relay=self._relay), details=details)

    def _refused(self, server: Server, error: Fault | StepRefused) -> Outcome:
        if isinstance(error, Fault):
            return _fault(server, error)
        outcome = judge(error.answer, relay=self._relay)
        return replace(outcome, details=TryDetails(_shown(server)))


def _fault(server: Server, fault: Fault) -> Outcome:
    outcome = outcome_of(fault.name, str(fault), sent=fault.sent)
    return replace(outcome, details=TryDetails(_shown(server), fault.name))


def _shown(server: Server) -> str:
    return f"{server.host}[{server.address}]:{server.port}"


def _not_sent(error: BadInput | NoMail | Unresolved | StoreError, *, relay: bool) -> Outcome:
    """Make the outcome of a try that spoke with nobody: it says nothing about the lane's server,
    unless that is the relay."""
    why, code = str(error), ""
    if isinstance(error, StoreError):
        outcome, about = later(f"its attachments cannot be read: {why}", after_ms=AGAIN_MS), "store"
    elif isinstance(error, Unresolved):
        outcome = unreachable(why) if relay else replace(failed(why), temporary=True)
        about = "dns"
    elif isinstance(error, BadUrl):
        outcome, about = failed(why), "forbidden"
    elif isinstance(error, NoMail):
        outcome, code, about = rejected(why), error.code, "mailbox"
    else:
        outcome, about = rejected(f"it cannot be sent: {why}"), "content"
    return replace(outcome, answered=False, provider=ProviderAnswer(code=code, sub_type=about))
