"""Who is encrypted to, whose certificate has to hold, and who gets a password."""

import asyncio
from collections.abc import Iterator

import pytest

from postroad.model.outcome import Kind
from tests.mail.certificates import Authority
from tests.mail.mail_server import MailServer, Moods
from tests.mail.sessions import line

LOGIN = ("lee", "very secret")


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    with authority.trusted(monkeypatch):
        yield authority


async def sent(relay: str, **more: str) -> tuple[Kind, str]:
    async with line(relay, **more) as road:
        outcome = await road.send("ann@example.com")
    return outcome.kind, outcome.error


async def test_a_certificate_for_the_relays_name_is_enough(trusted: Authority) -> None:
    with MailServer(Moods(tls=trusted.context("localhost"))) as server:
        kind, _ = await sent(f"smtp://localhost:{server.port}?tls=required")
    assert (kind, len(server.mails)) == (Kind.delivered, 1)


async def test_a_certificate_for_another_name_is_not(trusted: Authority) -> None:
    with MailServer(Moods(tls=trusted.context("other.example"))) as server:
        kind, error = await sent(f"smtp://localhost:{server.port}?tls=required")
    assert (kind, server.mails) == (Kind.unreachable, [])
    assert "certificate" in error.lower()


async def test_a_certificate_that_nobody_trusts_is_not(authority: Authority) -> None:
    with MailServer(Moods(tls=authority.context("localhost"))) as server:
        kind, _ = await sent(f"smtp://localhost:{server.port}?tls=required")
    assert (kind, server.mails) == (Kind.unreachable, [])


async def test_a_relay_without_tls_gets_nothing_where_it_is_required() -> None:
    with MailServer() as server:
        kind, error = await sent(f"{server.url}?tls=required")
    assert (kind, server.mails) == (Kind.unreachable, [])
    assert "offers no TLS" in error


async def test_any_certificate_will_do_where_encryption_is_a_bonus(authority: Authority) -> None:
    with MailServer(Moods(tls=authority.context("other.example"))) as server:
        kind, _ = await sent(f"{server.url}?tls=opportunistic")
    assert (kind, len(server.mails)) == (Kind.delivered, 1)


@pytest.mark.parametrize("password", [LOGIN[1], "wrong"])
async def test_a_login_through_tls(authority: Authority, password: str) -> None:
    moods = Moods(tls=authority.context("localhost"), login=LOGIN)
    with MailServer(moods) as server:
        async with line(server.url, account="lee", secret=password) as road:
            outcome = await road.send("ann@example.com")
    good = password == LOGIN[1]
    assert (outcome.kind, outcome.disables) == (
        (Kind.delivered, False) if good else (Kind.quota, True)
    )
    assert len(server.mails) == good
    assert "wrong" not in outcome.error


async def test_a_password_is_not_sent_in_the_clear_to_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from postroad.transports.smtp.opening import Server

    monkeypatch.setattr(Server, "local", property(lambda _server: False))
    with MailServer(Moods(login=LOGIN, login_in_the_clear=True)) as server:
        more = {"account": "lee", "secret": LOGIN[1]}
        async with line(f"{server.url}?tls=opportunistic", **more) as road:
            outcome = await road.send("ann@example.com")
        assert (outcome.kind, outcome.provider.sub_type) == (Kind.quota, "login")
        assert not server.book.logins
        async with line(f"{server.url}?tls=none", **more) as road:
            outcome = await road.send("ann@example.com")
    assert outcome.kind is Kind.delivered


async def test_what_is_said_in_the_clear_behind_starttls_is_not_read_in_tls(
    authority: Authority,
) -> None:
    """Somebody on the way adds a reply to the server's own, for after the handshake."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 hello\r\n")
        while command := await reader.readline():
            if command.startswith(b"EHLO"):
                writer.write(b"250-x\r\n250 STARTTLS\r\n")
            else:
                writer.write(b"220 go\r\n250-x\r\n250 AUTH PLAIN\r\n")
                heard.append(command)
                await writer.drain()
                try:
                    await writer.start_tls(context)
                except OSError:
                    return
                heard.append(b"tls")

    heard: list[bytes] = []
    context = authority.context("localhost")
    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        kind, error = await sent(f"smtp://127.0.0.1:{port}?tls=required")
        assert heard[:1] == [b"STARTTLS\r\n"]
    assert b"tls" not in heard
    assert (kind, "unasked" in error) == (Kind.unreachable, True)
