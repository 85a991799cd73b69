"""A limited text connects to its provider before its rate slot, so that its call is not late."""

import asyncio

from postroad.model.credential import Credential, CredentialSpec, OpenCredential
from postroad.model.outcome import Kind
from postroad.ports.clock import SystemClock
from postroad.transports.sms.session import SmsSession
from postroad.transports.vetted_http import VettedHttp
from postroad.transports.webhook.connections import IdleConnections
from tests.campaigns.stories import until
from tests.webhook.conftest import LOCAL
from tests.webhook.lacking_process import MESSAGE, queue


def session(port: int) -> SmsSession:
    spec = CredentialSpec(f"http://127.0.0.1:{port}", "AC1", "+15550000")
    known = Credential(1, "default", "main", "sms", spec, "", b"")
    http = VettedHttp(LOCAL, SystemClock(), IdleConnections())
    return SmsSession(OpenCredential(known, {"secret": "token"}), http)


def test_the_connection_is_made_before_the_call_and_only_once() -> None:
    made: list[asyncio.StreamWriter] = []

    async def story() -> None:
        server = await asyncio.start_server(lambda _, writer: made.append(writer), "127.0.0.1", 0)
        async with server:
            sms = session(server.sockets[0].getsockname()[1])
            assert await sms.prepare(queue("sms:main"), MESSAGE) is None
            assert await sms.prepare(queue("sms:main"), MESSAGE) is None

            async def connected() -> bool:
                return bool(made)

            await until(connected)
            await sms.close()
            assert len(made) == 1
            made[0].close()

    asyncio.run(story())


def test_who_cannot_be_connected_to_is_told_instead_of_missing_every_slot() -> None:
    async def story() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        outcome = await session(port).prepare(queue("sms:main"), MESSAGE)
        assert outcome is not None
        assert outcome.kind is Kind.unreachable

    asyncio.run(story())
