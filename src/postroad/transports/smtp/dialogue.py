"""The dialogue with one server: greeting, TLS, login, and mails one after the other."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.transports.smtp.capabilities import NONE, Capabilities, read_capabilities
from postroad.transports.smtp.connection import SmtpConnection
from postroad.transports.smtp.replies import SmtpReply

GREETING_S: Final = 60.0
COMMAND_S: Final = 60.0
CONTENT_S: Final = 600.0
"""RFC 5321, 4.5.3.2.6: who gives up earlier does not know what became of the mail."""
END: Final = b"\r\n.\r\n"


class SmtpStep(StrEnum):
    """Where a dialogue stood when a reply decided it."""

    greeting = "greeting"
    hello = "EHLO"
    tls = "STARTTLS"
    login = "AUTH"
    reset = "RSET"
    sender = "MAIL"
    recipient = "RCPT"
    data = "DATA"
    content = "content"


MAIL_STEPS: Final = [SmtpStep.sender, SmtpStep.recipient, SmtpStep.data]


class Answer(Struct, frozen=True):
    """The reply that decided a step."""

    step: SmtpStep
    reply: SmtpReply


class StepRefused(Exception):
    """The server refused a step before any mail."""

    def __init__(self, step: SmtpStep, reply: SmtpReply) -> None:
        super().__init__(f"{step}: {reply.text}")
        self.answer = Answer(step, reply)


class MailEnvelope(Struct, frozen=True):
    """Who sends to whom."""

    sender: str
    recipient: str
    reference: str
    """What reports about the mail are to name."""
    utf8: bool = False
    """An address or a header is not ASCII."""
    eight_bit: bool = False
    """The content is not ASCII."""


class Dialogue:
    """Speaks SMTP on one connection."""

    def __init__(self, connection: SmtpConnection, name: str) -> None:
        self.connection = connection
        self.offers: Capabilities = NONE
        self.secure = False
        self.mails = 0
        """How many were sent on it."""
        self._name = name
        self._begun = False
        """A mail was begun and not ended: the next one has to reset it."""
        self._loop = asyncio.get_running_loop()

    async def open(self) -> None:
        """Await the greeting and introduce ourselves."""
        reply = await self.connection.greeting(self._loop.time() + GREETING_S)
        if reply.code != 220:
            raise StepRefused(SmtpStep.greeting, reply)
        await self._hello()

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Go on in TLS. What was offered before does not count."""
        reply = await self._command(b"STARTTLS")
        if reply.code != 220:
            raise StepRefused(SmtpStep.tls, reply)
        await self.connection.start_tls(context, host, COMMAND_S)
        self.secure, self.offers = True, NONE
        await self._hello()

    async def login(self, user: str, password: str) -> None:
        """Log in, by PLAIN or LOGIN."""
        if "PLAIN" in self.offers.auth or "LOGIN" not in self.offers.auth:
            secret = b64encode(f"\0{user}\0{password}".encode())
            reply = await self._command(b"AUTH PLAIN " + secret)
        else:
            reply = await self._command(b"AUTH LOGIN")
            for part in (user, password):
                if reply.code == 334:
                    reply = await self._command(b64encode(part.encode()))
        if reply.code != 235:
            # What a server says about a password may repeat it.
            raise StepRefused(SmtpStep.login, SmtpReply(reply.code, (reply.enhanced.encode(),)))

    async def send(self, envelope: MailEnvelope, content: bytes) -> Answer:
        """Send one mail; its content ends with END. The answer is of the step that decided it. A
        Fault says whether the mail can have been taken."""
        if answer := self._unfit(envelope, len(content)):
            return answer
        self.mails += 1
        commands, steps = self._commands(envelope, len(content))
        groups = [(b"".join(commands), steps)]
        if not self.offers.pipelining:
            groups = [(command, [step]) for command, step in zip(commands, steps, strict=True)]
        for command, asked in groups:
            until_s = self._loop.time() + COMMAND_S
            replies = await self.connection.ask(command, len(asked), until_s)
            for step, reply in zip(asked, replies, strict=False):
                if not reply.good or (step is SmtpStep.data and reply.code != 354):
                    self._leave(replies)
                    return Answer(step, reply)
        self._begun = False
        reply = await self.connection.submit(content, self._loop.time() + CONTENT_S)
        return Answer(SmtpStep.content, reply)

    def _unfit(self, envelope: MailEnvelope, size: int) -> Answer | None:
        """Refuse what the server would refuse, or could not take unharmed."""
        offers = self.offers
        if offers.size and size > offers.size:
            said = f"5.3.4 the mail has {size} bytes, the server takes {offers.size}"
            return Answer(SmtpStep.sender, SmtpReply(552, (said.encode(),)))
        if envelope.utf8 and not offers.utf8:
            said = "5.6.7 the server takes no addresses or headers that are not ASCII (SMTPUTF8)"
            return Answer(SmtpStep.sender, SmtpReply(553, (said.encode(),)))
        if envelope.eight_bit and not offers.eight_bit:
            said = "5.6.3 the server takes no content with bytes above 127 (8BITMIME)"
            return Answer(SmtpStep.sender, SmtpReply(554, (said.encode(),)))
        return None

    def _commands(self, envelope: MailEnvelope, size: int) -> tuple[list[bytes], list[SmtpStep]]:
        options = f" SIZE={size}" if self.offers.size else ""
        if envelope.eight_bit or envelope.utf8:
            options += " BODY=8BITMIME" if self.offers.eight_bit else ""
        options += " SMTPUTF8" if envelope.utf8 else ""
        about = ""
        if self.offers.dsn:
            options += f" RET=HDRS ENVID={envelope.reference}"
            about = "" if envelope.utf8 else f" ORCPT=rfc822;{_xtext(envelope.recipient)}"
        commands = [
            f"MAIL FROM:<{envelope.sender}>{options}\r\n".encode(),
            f"RCPT TO:<{envelope.recipient}>{about}\r\n".encode(),
            b"DATA\r\n",
        ]
        if not self._begun:
            self._begun = True
            return commands, MAIL_STEPS
        return [b"RSET\r\n", *commands], [SmtpStep.reset, *MAIL_STEPS]

    def _leave(self, replies: Sequence[SmtpReply]) -> None:
        """The mail was refused. A server that waits for its content all the same gets none."""
        if replies[-1].code == 354:
            self.connection.close()

    async def _hello(self) -> None:
        reply = await self._command(f"EHLO {self._name}".encode())
        if reply.code in (500, 502, 504):
            reply = await self._command(f"HELO {self._name}".encode())
        if reply.code != 250:
            raise StepRefused(SmtpStep.hello, reply)
        self.offers = read_capabilities(reply)

    async def _command(self, command: bytes) -> SmtpReply:
        until_s = self._loop.time() + COMMAND_S
        return (await self.connection.ask(command + b"\r\n", 1, until_s))[0]


def _xtext(address: str) -> str:
    """Write an address as an option (RFC 3461, 4)."""
    return address.replace("+", "+2B").replace("=", "+3D")
