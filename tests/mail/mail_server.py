"""A real SMTP server in a thread of its own (aiosmtpd). What it does with a mail, its recipient's
name says: `r550-5.1.1@…` is refused at RCPT, `d451-4.3.0@…` after its content."""

# ruff: noqa: ARG002, N802 - the hooks are called so by aiosmtpd

import asyncio
import re
import ssl
from typing import Any, Self, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from msgspec import Struct

from tests.servers import free_port

REPLY = re.compile(r"([mrd])([245][0-9]{2})(?:-([245]\.[0-9]+\.[0-9]+))?")
HOST = "127.0.0.1"


class Received(Struct, frozen=True):
    """A mail that was taken."""

    sender: str
    recipient: str
    content: bytes
    options: tuple[str, ...]
    session: int


class Moods(Struct, frozen=True):
    """How the server is, whoever gets the mail."""

    pipelining: bool = True
    size: int = 0
    """What it says that it takes; 0 is nothing said."""
    closes_after: int = 0
    """So many mails a connection; then it closes, with or without a word."""
    says_421: bool = True
    tls: ssl.SSLContext | None = None
    login: tuple[str, str] | None = None
    login_in_the_clear: bool = False
    utf8: bool = False


class MoodySmtp(SMTP):
    """aiosmtpd's server, which can also drop a connection while content comes."""

    async def smtp_DATA(self, arg: str) -> None:
        assert self.envelope is not None
        if any(name.startswith("drop") for name in self.envelope.rcpt_tos):
            await self.push("354 go on")
            await self._reader.read(10)
            _abort(self)
            return
        await super().smtp_DATA(arg)


class MoodyHandler:
    """Answers as a recipient's name asks for, and keeps what was taken."""

    def __init__(self, moods: Moods) -> None:
        self.moods = moods
        self.mails: list[Received] = []
        self.sessions = 0
        self.logins: list[str] = []
        self.seen: set[str] = set()

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, name: str, said: list[str]
    ) -> list[str]:
        self.sessions += 1
        session.host_name = name
        moods = self.moods
        kept = [line for line in said if "SIZE" not in line]
        more = ["250-PIPELINING"] if moods.pipelining else []
        more += [f"250-SIZE {moods.size}"] if moods.size else []
        return [*kept[:-1], *more, kept[-1]]

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if reply := _reply("m", address):
            return reply
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 Ok"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.startswith("grey") and address not in self.seen:
            self.seen.add(address)
            return "450 4.2.0 Greylisted, try again later"
        if reply := _reply("r", address):
            return reply
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        (recipient,) = envelope.rcpt_tos
        if recipient.startswith("slow"):
            await asyncio.sleep(0.3)
        if reply := _reply("d", recipient):
            return reply
        options = (*envelope.mail_options, *envelope.rcpt_options)
        assert isinstance(envelope.content, bytes)
        if recipient.startswith("repeat"):  # as a filter of contents does
            return f"550 5.7.1 not wanted: {envelope.content.split()[-1].decode()}"
        self.mails.append(
            Received(envelope.mail_from or "", recipient, envelope.content, options, id(session))
        )
        if recipient.startswith("lost"):
            _abort(server)
        here = sum(mail.session == id(session) for mail in self.mails)
        if here == self.moods.closes_after:
            asyncio.get_running_loop().call_later(0.01, self._close, server)
        return f"250 2.0.0 Ok: queued as Q{len(self.mails)}"

    def _close(self, server: SMTP) -> None:
        if self.moods.says_421:
            _transport(server).write(b"421 4.4.2 enough\r\n")
        _transport(server).close()

    def check(
        self, server: SMTP, session: Session, envelope: Envelope, kind: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append(kind)
        given = (data.login.decode(), data.password.decode())
        return AuthResult(success=given == self.moods.login, handled=False)


def _transport(server: SMTP) -> asyncio.Transport:
    return cast("asyncio.Transport", server.transport)


def _abort(server: SMTP) -> None:
    _transport(server).abort()


def _reply(step: str, address: str) -> str:
    found = REPLY.match(address)
    if found is None or found[1] != step:
        return ""
    return " ".join(filter(None, (found[2], found[3], "as you wish")))


class MailServer(Controller):
    """The server, while the context lasts."""

    def __init__(self, moods: Moods | None = None, host: str = HOST, port: int = 0) -> None:
        self.moods = moods or Moods()
        self.book = MoodyHandler(self.moods)
        self._all: list[SMTP] = []
        super().__init__(self.book, host, port or free_port())

    def factory(self) -> SMTP:
        moods = self.moods
        made = MoodySmtp(
            self.book,
            data_size_limit=None,
            enable_SMTPUTF8=moods.utf8,
            tls_context=moods.tls,
            hostname="mail.example",
            auth_required=moods.login is not None and not moods.login_in_the_clear,
            auth_require_tls=not moods.login_in_the_clear,
            authenticator=self.book.check,
            loop=self.loop,
        )
        self._all.append(made)
        return made

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._hang_up(), self.loop).result()
        self.stop(no_assert=True)

    async def _hang_up(self) -> None:
        """Close what clients left open: it would be found as forgotten."""
        for one in self._all:
            if one.transport is not None:
                _abort(one)
        await asyncio.sleep(0.01)

    @property
    def mails(self) -> list[Received]:
        """What was taken."""
        return self.book.mails

    @property
    def url(self) -> str:
        """As a relay."""
        return f"smtp://{HOST}:{self.port}"
