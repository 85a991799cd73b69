"""A mail session without a road around it, for the tests of what servers do."""

import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from postroad.model.credential import Credential, CredentialSpec, OpenCredential
from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.errors import BadInput
from postroad.model.mail_settings import MailSettings
from postroad.model.outcome import Outcome
from postroad.model.recipients import addressed
from postroad.ports.clock import SystemClock
from postroad.transports.smtp.channel import MailParts, SmtpChannel
from postroad.transports.smtp.session import MailSession
from postroad.transports.webhook.connections import IdleConnections

QUEUE = Queue(1, "default", "smtp:default", Policy(), (1,))
LANE = LaneKey("smtp", "relay", "default")
IDS = itertools.count(1)
MAIL = {"subject": "Hi", "text": "Hello\n", "from": "Lee <lee@example.com>"}


class PlainLinks:
    """References that anybody can make."""

    def reference(self, ref: str, recipient: str) -> str:
        return f"{ref}-{len(recipient)}"

    def return_path(self, ref: str, recipient: str) -> str:  # noqa: ARG002
        return ""

    def unsubscribe_url(self, tenant: str, ref: str, recipient: str) -> str:
        return f"https://example.com/{tenant}/{ref}/{len(recipient)}"

    def unsubscribe_headers(self, tenant: str, ref: str, recipient: str) -> dict[str, str]:
        return {"List-Unsubscribe": f"<https://example.com/{tenant}/{ref}/{len(recipient)}>"}


async def no_policy(domain: str) -> bytes:
    raise OSError(f"{domain} has no policy")


async def no_blob(tenant: str, blob: str) -> bytes:
    raise BadInput(f"{tenant} has no {blob}")


def channel(settings: MailSettings, **parts: Any) -> SmtpChannel:
    """The channel as a road has it."""
    idle, clock = IdleConnections(), SystemClock()
    files = {"fetch": no_policy, "get": no_policy, "blob": no_blob}
    given = {"links": PlainLinks(), **files, **parts}
    return SmtpChannel(MailParts(settings, (), clock, idle, **given))


def credential(server: str = "", **more: Any) -> OpenCredential:
    secrets: dict[str, str] = {}
    for name in ("secret", "dkim_key"):
        secrets |= {name: more.pop(name)} if name in more else {}
    spec = CredentialSpec(server=server, **more)
    return OpenCredential(Credential(1, "default", "default", "smtp", spec, "", b""), secrets)


def message(recipient: str, body: object = MAIL, number: int = 0) -> Message:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return Message(number or next(IDS), 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, raw, addressed(recipient))


class Line:
    """A session, and what is sent on it."""

    def __init__(self, session: MailSession) -> None:
        self.session = session

    async def send(self, recipient: str, body: object = MAIL, number: int = 0) -> Outcome:
        return await self.session.send(QUEUE, message(recipient, body, number))


@asynccontextmanager
async def line(relay: str, **more: Any) -> AsyncIterator[Line]:
    """A session through a relay."""
    made = channel(MailSettings(relay))
    session = await made.connect(LANE, credential(**more))
    try:
        yield Line(session)
    finally:
        await session.close()


def raw_server() -> tuple[socket.socket, int]:
    """A socket that listens, for servers that speak no SMTP."""
    listening = socket.create_server(("127.0.0.1", 0))
    return listening, listening.getsockname()[1]
