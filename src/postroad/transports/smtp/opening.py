"""Opens a dialogue with a server: connection, greeting, TLS as far as it is asked for, login."""

import asyncio
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from socket import AI_NUMERICHOST, gethostname
from typing import Final

from msgspec import Struct

from postroad.model.errors import Shortage
from postroad.model.relay import Tls
from postroad.transports.smtp.connection import SmtpConnection
from postroad.transports.smtp.dialogue import Dialogue, SmtpStep, StepRefused
from postroad.transports.smtp.replies import SmtpReply
from postroad.transports.smtp.tls import context
from postroad.transports.webhook.faults import Fault, reason_of

CONNECT_S: Final = 10.0
NO_TLS: Final = "the server offers no TLS (STARTTLS), which is required of it"
IN_THE_CLEAR: Final = SmtpReply(538, (b"5.7.11 a password is not sent without TLS",))


class Server(Struct, frozen=True):
    """A server, at an address that was vetted, and how it is to be spoken to."""

    host: str
    address: str
    port: int
    wrapped: bool
    tls: Tls
    user: str = ""
    password: str = ""
    hello: str = ""

    @property
    def local(self) -> bool:
        """Whether nobody can listen on the way."""
        return ip_address(self.address).is_loopback


async def open_dialogue(server: Server, gone: Callable[[SmtpConnection], None]) -> Dialogue:
    """Connect, greet, encrypt and log in. Raises Fault and StepRefused: no mail was sent."""
    try:
        return await _open(server, gone, server.tls)
    except (Fault, StepRefused) as error:
        name = error.name if isinstance(error, Fault) else error.answer.step
        if server.tls is not Tls.opportunistic or name not in ("tls", SmtpStep.tls):
            raise
        # Who cannot encrypt after all gets the mail in the clear, as if it had not offered it.
        return await _open(server, gone, Tls.none)


async def _open(server: Server, gone: Callable[[SmtpConnection], None], tls: Tls) -> Dialogue:
    connection = await _connect(server, gone)
    dialogue = Dialogue(connection, server.hello or _own_name())
    dialogue.secure = server.wrapped
    try:
        await dialogue.open()
        if not server.wrapped:
            await _encrypt(dialogue, server, tls)
        if server.user:
            await _log_in(dialogue, server)
    except BaseException:
        connection.close()
        raise
    return dialogue


async def _encrypt(dialogue: Dialogue, server: Server, tls: Tls) -> None:
    if tls is Tls.none:
        return
    if dialogue.offers.starttls:
        verified = tls is Tls.required
        await dialogue.start_tls(await context(verified=verified), server.host)
    elif tls is Tls.required:
        raise Fault("tls", NO_TLS, sent=False)


async def _log_in(dialogue: Dialogue, server: Server) -> None:
    if not (dialogue.secure or server.local or server.tls is Tls.none):
        raise StepRefused(SmtpStep.login, IN_THE_CLEAR)
    await dialogue.login(server.user, server.password)


async def _connect(server: Server, gone: Callable[[SmtpConnection], None]) -> SmtpConnection:
    loop = asyncio.get_running_loop()
    secure = await context(verified=server.tls is Tls.required) if server.wrapped else None
    try:
        async with asyncio.timeout(CONNECT_S):
            # An address, not a name: nobody is asked where it is, so nobody can lie about it.
            _, connection = await loop.create_connection(
                lambda: SmtpConnection(gone),
                server.address,
                server.port,
                ssl=secure,
                server_hostname=server.host if secure else None,
                flags=AI_NUMERICHOST,
            )
    except (OSError, ssl.CertificateError) as error:
        if lacks := Shortage.of(error):
            raise lacks from None
        raise Fault(*reason_of(error), sent=False) from None
    return connection


def _own_name() -> str:
    """The name that servers are greeted with where none is set."""
    name = gethostname().lower()
    return name if "." in name else f"{name}.localdomain"
