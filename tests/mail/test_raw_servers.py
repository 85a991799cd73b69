"""Servers that speak no proper SMTP: what is certainly not sent, what nobody knows, and how long
and how much is read of them."""

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from postroad.model.outcome import Kind, Outcome
from postroad.transports.smtp import dialogue
from tests.mail.sessions import MAIL, line

pytestmark = pytest.mark.usefixtures("impatient")
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
GREETING = b"220 hello\r\n"
OFFERS = b"250-x\r\n250 PIPELINING\r\n"
LARGE = {**MAIL, "text": ("x" * 70 + "\n") * 100_000}


@asynccontextmanager
async def serving(speak: Speak) -> AsyncIterator[str]:
    """A server that does as it likes; a client that leaves is no fault."""

    async def safely(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await speak(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(safely, "127.0.0.1", 0)
    async with server:
        yield f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the test itself is found soon."""
    for name in ("GREETING_S", "COMMAND_S", "CONTENT_S"):
        monkeypatch.setattr(dialogue, name, 30.0)


async def tried(speak: Speak, body: object = MAIL) -> Outcome:
    async with serving(speak) as url, line(url) as road:
        return await road.send("ann@example.com", body)


def says(*replies: bytes, reads: int = 1) -> Speak:
    """Say one thing after the other, each after what comes, and then hang up."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number, reply in enumerate(replies):
            if number:
                await reader.read(65_536)
            writer.write(reply)
            await writer.drain()
        for _ in range(reads):
            await reader.read(65_536)

    return speak


GROUP = b"250 ok\r\n250 ok\r\n354 go\r\n"
NOT_SENT = {
    "no greeting": says(b"", reads=0),
    "a greeting that refuses": says(b"554 no\r\n"),
    "no answer to EHLO": says(GREETING),
    "EHLO refused": says(GREETING, b"550 no\r\n"),
    "no answer to MAIL": says(GREETING, OFFERS),
    "half an answer to MAIL": says(GREETING, OFFERS, b"250 ok\r\n25", reads=0),
    "closed before DATA": says(GREETING, OFFERS, b"250 ok\r\n250 ok\r\n", reads=0),
    "no SMTP": says(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "a line without an end": says(b"220 " + b"x" * 10_000),
    "endless lines": says(b"220-x\r\n" * 10_000),
    "421 to MAIL": says(GREETING, OFFERS, b"421 bye\r\n"),
    "421 to DATA": says(GREETING, OFFERS, b"250 ok\r\n250 ok\r\n421 bye\r\n"),
    "421 after the content": says(GREETING, OFFERS, GROUP, b"421 4.3.2 going down\r\n"),
}
UNKNOWN = {
    "no answer to the content": says(GREETING, OFFERS, GROUP),
    "half an answer to the content": says(GREETING, OFFERS, GROUP, b"250", reads=0),
    "garbage after the content": says(GREETING, OFFERS, GROUP, b"hello\r\n"),
    "an odd code after the content": says(GREETING, OFFERS, GROUP, b"354 more\r\n"),
}


@pytest.mark.parametrize("speak", NOT_SENT.values(), ids=NOT_SENT)
async def test_before_the_content_is_ended_nothing_is_sent(speak: Speak) -> None:
    outcome = await tried(speak)
    assert outcome.kind is Kind.unreachable, outcome


@pytest.mark.parametrize("speak", UNKNOWN.values(), ids=UNKNOWN)
async def test_after_that_nobody_knows(speak: Speak) -> None:
    outcome = await tried(speak)
    assert outcome.kind is Kind.unknown, outcome


async def test_an_answer_and_a_good_bye_in_one_piece_is_an_answer() -> None:
    outcome = await tried(says(GREETING, OFFERS, GROUP, b"250 ok\r\n421 enough\r\n"))
    assert outcome.kind is Kind.delivered


async def test_a_large_mail_that_is_cut_off_on_its_way_is_certainly_not_sent() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await says(GREETING, OFFERS, GROUP, reads=2)(reader, writer)

    outcome = await tried(speak, LARGE)
    assert outcome.kind is Kind.unreachable, outcome


async def test_a_refused_recipient_gets_no_content_though_the_server_waits_for_it() -> None:
    heard: list[bytes] = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        refusal = b"250 ok\r\n550 5.1.1 no\r\n354 go\r\n"
        await says(GREETING, OFFERS, refusal, reads=0)(reader, writer)
        heard.append(await reader.read(65_536))

    outcome = await tried(speak)
    assert (outcome.kind, b"".join(heard)) == (Kind.rejected, b"")


@pytest.mark.parametrize("reply", [b"", b"2", b"250-x\r\n"], ids=["silence", "drips", "lines"])
async def test_a_server_that_never_comes_to_an_end_is_left(
    reply: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogue, "COMMAND_S", 0.3)

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GREETING)
        await reader.read(1_000)
        while not reader.at_eof():
            writer.write(reply)
            await writer.drain()
            await asyncio.sleep(0.02)

    outcome = await asyncio.wait_for(tried(speak), 60)
    assert outcome.kind is Kind.unreachable
    assert "no answer in time" in outcome.error or "no SMTP" in outcome.error


async def test_a_banner_without_end_takes_no_memory() -> None:
    async def speak(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(640):
            writer.write(b"220-" + b"x" * 16_380)
            await writer.drain()

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await tried(speak)
    assert outcome.kind is Kind.unreachable
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


async def test_an_idle_connection_that_died_is_found_before_it_is_used() -> None:
    """The second mail goes on a new connection: the first was closed while nobody looked."""
    count = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        await says(GREETING, OFFERS, GROUP, b"250 ok\r\n", reads=0)(reader, writer)

    async with serving(speak) as url, line(url) as road:
        kinds = []
        for _ in range(3):
            kinds.append((await road.send("ann@example.com")).kind)
            await asyncio.sleep(0.01)
    assert (kinds, count) == ([Kind.delivered] * 3, 3)


async def test_one_that_dies_at_the_next_command_is_not_blamed_either() -> None:
    count = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        await says(GREETING, OFFERS, GROUP, b"250 ok\r\n", reads=1)(reader, writer)

    async with serving(speak) as url, line(url) as road:
        kinds = [(await road.send("ann@example.com")).kind for _ in range(3)]
    assert (kinds, count) == ([Kind.delivered] * 3, 3)


async def test_nobody_listens() -> None:
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        async with line(f"smtp://127.0.0.1:{bound.getsockname()[1]}") as road:
            outcome = await road.send("ann@example.com")
    assert (outcome.kind, outcome.error) == (Kind.unreachable, "connection refused")
