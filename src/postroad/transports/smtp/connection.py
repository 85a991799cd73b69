"""One SMTP connection: commands are written, and their replies awaited, one group at a time."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, cast

from postroad.transports.smtp.replies import BadReply, ReplyReader, SmtpReply
from postroad.transports.webhook.faults import Fault, reason_of

PIECE_BYTES: Final = 64 << 10
"""Content is written in pieces of so much: while one is not taken, the last has not left."""

GOING: Final = 421
"""A server that says so closes the connection, and answers nothing more."""


class SmtpConnection(asyncio.Protocol):
    """Carries one group of commands at a time. `gone` is called when it cannot be used any more,
    also while nobody asks: so a dead one is found before it is used."""

    def __init__(self, gone: "Callable[[SmtpConnection], None]") -> None:
        self.idle_s = 0.0
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._reader = ReplyReader()
        self._replies: list[SmtpReply] = []
        self._expected = 1  # the greeting
        self._waiting: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._fault: Fault | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is made."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    @property
    def usable(self) -> bool:
        """Whether commands can be sent on it."""
        return self._fault is None and not self._transport.is_closing()

    async def greeting(self, until_s: float) -> SmtpReply:
        """Await what the server says first."""
        return (await self._answers(1, until_s))[0]

    async def ask(self, commands: bytes, replies: int, until_s: float) -> list[SmtpReply]:
        """Write commands and await their replies. Raises Fault when they do not come by `until_s`,
        in the loop's time."""
        self._expected += replies
        self._transport.write(commands)
        return await self._answers(replies, until_s)

    async def submit(self, content: bytes, until_s: float) -> SmtpReply:
        """Write a mail's content with its end, and await the reply. A Fault says whether the end
        can have left."""
        at = 0
        while len(content) - at > PIECE_BYTES:
            self._transport.write(content[at : at + PIECE_BYTES])
            at += PIECE_BYTES
            await self._taken(until_s)
        self._expected += 1
        self._transport.write(content[at:] if at else content)
        try:
            return (await self._answers(1, until_s))[0]
        except Fault as fault:
            raise Fault(fault.name, str(fault), sent=True) from None

    async def start_tls(self, context: ssl.SSLContext, host: str, limit_s: float) -> None:
        """Go on in TLS. What the server said in the clear beyond its reply is never read: somebody
        else may have said it."""
        if not self.usable:
            raise self._fault or Fault("closed", sent=False)
        try:
            transport = await self._loop.start_tls(
                self._transport,
                self,
                context,
                server_hostname=host,
                ssl_handshake_timeout=limit_s,
            )
        except (OSError, ssl.SSLError, ssl.CertificateError) as error:
            self.close()
            raise Fault(*reason_of(error), sent=False) from None
        if transport is None:  # it was lost meanwhile
            raise self._fault or Fault("closed", sent=False)
        self._transport = transport

    def quit(self) -> None:
        """Say good-bye, and wait for no answer."""
        if self.usable:
            self._transport.write(b"QUIT\r\n")
        self._end(Fault("closed", sent=False))
        self._transport.close()

    def close(self) -> None:
        """Close the connection at once."""
        self._end(Fault("closed", sent=False))
        self._transport.abort()

    # What the loop tells

    def data_received(self, data: bytes) -> None:
        """Read replies. What nobody asked for, as the 421 of a server that goes, ends it."""
        try:
            replies = self._reader.read(data, self._expected)
        except BadReply as error:
            self._break(Fault("bad_answer", str(error), sent=False))
            return
        self._replies += replies
        self._expected -= len(replies)
        leaving = bool(replies) and replies[-1].code == GOING
        if self._expected and not leaving:
            return
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        if leaving:
            self._break(Fault("closed", sent=False))
        elif self._reader.pending:
            self._break(Fault("unasked", self._reader.rest, sent=False))

    def eof_received(self) -> None:
        """The server has closed its side."""
        self._break(Fault("closed", sent=False))

    def connection_lost(self, error: Exception | None) -> None:
        """The connection ended."""
        self._end(Fault(*reason_of(error), sent=False) if error else Fault("closed", sent=False))

    def pause_writing(self) -> None:
        """What was written has not been taken yet."""
        self._drained = self._loop.create_future()

    def resume_writing(self) -> None:
        """What was written has been taken."""
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    # What it means

    async def _answers(self, count: int, until_s: float) -> list[SmtpReply]:
        """Await as many replies as are expected. A refusal may be the last one."""
        if self._expected and self._fault is None:
            self._waiting = self._loop.create_future()
            await self._awaited(self._waiting, until_s)
            self._waiting = None
        replies, self._replies = self._replies, []
        if len(replies) < count and (not replies or replies[-1].good):
            raise self._fault or Fault("closed", sent=False)
        return replies

    async def _taken(self, until_s: float) -> None:
        """Await that the other side has taken what was written."""
        if self._drained is not None:
            await self._awaited(self._drained, until_s)
        if self._fault is not None:
            raise self._fault

    async def _awaited(self, future: "asyncio.Future[None]", until_s: float) -> None:
        # One timer for many commands: it looks again when it fires too early.
        self._until_s = until_s
        if self._timer is None or until_s < self._timer.when():
            self._arm()
        try:
            await future
        except asyncio.CancelledError:
            self.close()
            raise

    def _break(self, fault: Fault) -> None:
        self._end(fault)
        self._transport.abort()

    def _end(self, fault: Fault) -> None:
        """End the dialogue, and tell those who wait."""
        if self._fault is not None:
            return
        self._fault = fault
        if self._timer is not None:
            self._timer.cancel()
        for future in (self._waiting, self._drained):
            if future is not None and not future.done():
                future.set_result(None)
        self._gone(self)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._until_s, self._check)

    def _check(self) -> None:
        self._timer = None
        waiting = self._waiting or self._drained
        if waiting is None or waiting.done():
            return
        if self._loop.time() >= self._until_s:
            self._break(Fault("timeout", sent=False))
        else:
            self._arm()
