"""The listener for bounces: it takes what comes back about our mails, and nothing else."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroad.bounces import connection as connections
from postroad.bounces import content as contents
from postroad.bounces import listener as listeners
from postroad.bounces.content import CONTENT_MAX, ContentReader, LineEnds
from postroad.config import Settings
from postroad.model.errors import BadSetting, StoreUnavailable
from postroad.model.mail_links import MailLinks
from postroad.model.mail_settings import MailSettings
from tests.mail.bounce_client import DOMAIN, Client, connected, listening_road, running
from tests.mail.mail_server import MailServer
from tests.servers import free_port
from tests.suppressions.reports import arf, dsn

ANN = "ann@example.com"
MAIL: dict[str, Any] = {"subject": "Hi", "text": "Hello"}


async def sent(road: Any) -> str:
    """The id of a mail to Ann that was sent."""
    receipt = await road.send(f"mailto:{ANN}", MAIL)
    async with asyncio.timeout(60):
        while (await road.explain(receipt.id)).state != "delivered":
            await asyncio.sleep(0.01)
    return str(receipt.id)


@pytest.mark.parametrize(("scheme", "hello"), [("smtp", "EHLO"), ("lmtp", "LHLO")])
async def test_a_bounce_of_a_real_mail_suppresses_its_recipient(
    tmp_path: Path, scheme: str, hello: str
) -> None:
    with MailServer() as server:
        road = listening_road(tmp_path, scheme=scheme, relay=server.url)
        async with road, running(road) as listener:
            ref = await sent(road)
            path = server.mails[0].sender
            async with connected(listener.port) as client:
                assert await client.mail(path, dsn(ANN), hello) == "250 2.0.0 stored"
                (found,) = (await road.suppressions.list()).suppressions
                assert (found.recipient, found.reason, found.message) == (ANN, "hard_bounce", ref)
                assert (await client.say("QUIT")).startswith("221")


async def test_a_complaint_is_taken_at_the_feedback_address(tmp_path: Path) -> None:
    with MailServer() as server:
        road = listening_road(tmp_path, relay=server.url)
        async with road, running(road) as listener:
            ref = await sent(road)
            mark = MailLinks(road.keys).reference(ref, ANN)
            async with connected(listener.port) as client:
                said = await client.mail(f"Feedback@{DOMAIN}", arf(ANN, mark=mark))
            assert said.startswith("250")
            (found,) = (await road.suppressions.list()).suppressions
            assert found.reason == "complaint"


async def test_no_other_mail_is_taken(tmp_path: Path) -> None:
    road = listening_road(tmp_path)
    async with road, running(road) as listener:
        own = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", ANN)
        others = (
            "postmaster",
            f"postmaster@{DOMAIN}",
            "ann@example.com",
            own.replace(DOMAIN, "example.com"),
            own.replace(own[5], "a" if own[5] != "a" else "b", 1),
            "",
        )
        async with connected(listener.port) as client:
            await client.say("EHLO x")
            await client.say("MAIL FROM:<eve@example.com>")
            for other in others:
                assert (await client.say(f"RCPT TO:<{other}>")).startswith("550 5.1.1")
            assert (await client.say("DATA")).startswith("503")
            assert (await client.say(f"RCPT TO:<{own.upper()}>")).startswith("250")
            assert (await client.say(f"RCPT TO:<{own}>")).startswith("452 4.5.3")


async def test_commands_that_come_in_one_piece_are_answered_in_their_order(tmp_path: Path) -> None:
    road = listening_road(tmp_path)
    async with road, running(road) as listener:
        path = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", ANN).encode()
        async with connected(listener.port) as client:
            one = b"MAIL FROM:<> SIZE=9 BODY=8BITMIME\r\nRCPT TO:<%b> NOTIFY=NEVER\r\nDATA\r\n"
            client.write(b"EHLO x\r\n" + (one % path + b"Subject: x\r\n..x\r\n.\r\n") * 2)
            client.write(b"BDAT 1 LAST\r\nQUIT\r\n")
            heard = [(await client.hear())[:3] for _ in range(11)]
            assert "CHUNKING" not in str(heard)
    assert heard == ["250", *["250", "250", "354", "250"] * 2, "500", "221"]


SMUGGLED = (
    b"x\n.\nMAIL FROM:<>\r\n",
    b"x\r\n.\nNOOP\r\n",
    b"x\n.\r\n",
    b"x\r.\r\r\n",
    b"a\rb\r\n.\r\n",
)


@pytest.mark.parametrize("content", SMUGGLED)
async def test_a_mail_with_bare_line_ends_is_refused_and_nothing_behind_it_is_read(
    tmp_path: Path, content: bytes
) -> None:
    road = listening_road(tmp_path)
    async with road, running(road) as listener:
        path = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", ANN)
        async with connected(listener.port) as client:
            for command in ("EHLO x", "MAIL FROM:<>", f"RCPT TO:<{path}>", "DATA"):
                await client.say(command)
            client.write(content)
            assert (await client.hear()).startswith("521 5.5.2")
            assert await client.hear() == "", "the connection is closed"


async def test_without_the_guard_a_mail_with_bare_line_ends_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the guard refuses it: what our reader and the sender see would differ."""
    monkeypatch.setattr(LineEnds, "bare", lambda _self, _data: False)
    road = listening_road(tmp_path)
    async with road, running(road) as listener, connected(listener.port) as client:
        path = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", ANN)
        for command in ("EHLO x", "MAIL FROM:<>", f"RCPT TO:<{path}>", "DATA"):
            await client.say(command)
        client.write(b"x\n.\nMAIL FROM:<>\r\n.\r\n")
        assert (await client.hear()).startswith("250")


async def test_a_mail_that_is_too_large_is_answered_and_the_next_one_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "CONTENT_MAX", 300_000)
    road = listening_road(tmp_path)
    async with road, running(road) as listener, connected(listener.port) as client:
        path = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", ANN)
        large = (b"x" * 998 + b"\r\n") * 400
        assert (await client.mail(path, large)).startswith("552 5.3.4")
        assert (await client.mail(path, b"Subject: x\r\n")).startswith("250")
    reader = ContentReader()
    assert reader.read(large * 2) is None
    assert not reader.endless, "its end is waited for"
    assert reader.read(large * 2) is None
    assert reader.endless


def test_line_ends_and_the_end_are_found_wherever_bytes_are_cut() -> None:
    whole = b"\r\n".join([b"a", b"..b", b".", b"NOOP", b""])
    for cut in range(len(whole)):
        ends, reader = LineEnds(), ContentReader()
        assert not ends.bare(whole[:cut])
        assert not ends.bare(whole[cut:])
        rests = [reader.read(whole[:cut]), None]
        if rests[0] is None:
            rests[1] = reader.read(whole[cut:])
            assert rests[1] == b"NOOP\r\n"
        assert reader.content == b"a\r\n.b\r\n"
        bad = LineEnds()
        assert bad.bare(b"a\n"[:1]) or bad.bare(b"a\n"[1:])


async def test_who_says_too_much_is_hung_up_on(tmp_path: Path) -> None:
    road = listening_road(tmp_path)
    async with road, running(road) as listener:
        for flood in (b"x" * 2_000, b"NOOP\r\n" * 1_001, b"WHAT\r\n" * 20):
            async with connected(listener.port) as client:
                client.write(flood)
                heard = [await client.hear()]
                while heard[-1]:
                    heard.append(await client.hear())
                assert heard[-2].startswith(("500 5.5.6", "421 4.7.0"))


async def test_who_says_nothing_for_long_is_hung_up_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "COMMAND_S", 0.2)
    road = listening_road(tmp_path)
    async with road, running(road) as listener, connected(listener.port) as client:
        assert (await client.hear()).startswith("421 4.4.2")
        assert await client.hear() == ""


async def test_a_mail_that_has_no_end_is_cut_off_and_little_of_it_is_kept(tmp_path: Path) -> None:
    reader = ContentReader()
    piece = b"x" * 998 + b"\r\n"
    for _ in range(CONTENT_MAX // 1_000 + 2):
        assert reader.read(piece) is None
    assert reader.too_large
    assert len(reader.content) < 1 << 20
    road = listening_road(tmp_path)
    async with road, running(road) as listener, connected(listener.port) as client:
        await client.say("EHLO x")
        assert (await client.say("MAIL FROM:<> SIZE=99999999")).startswith("552")


async def test_strangers_make_room_for_who_was_written_to(tmp_path: Path) -> None:
    road = listening_road(tmp_path, options="?connections=3")
    async with road, running(road) as listener:
        path = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", ANN)
        async with connected(listener.port) as known, connected(listener.port) as stranger:
            await known.say("EHLO x")
            await known.say("MAIL FROM:<>")
            await known.say(f"RCPT TO:<{path}>")
            async with connected(listener.port), connected(listener.port) as new:
                assert await stranger.hear() == "", "the oldest stranger was cut off"
                assert (await known.say("DATA")).startswith("354")
                assert (await new.say("EHLO x")).startswith("250")


async def test_one_return_path_gets_few_mails_a_minute(tmp_path: Path) -> None:
    road = listening_road(tmp_path)
    async with road, running(road) as listener, connected(listener.port) as client:
        path = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", ANN)
        said = [(await client.mail(path, b"Subject: away\r\n"))[:3] for _ in range(10)]
        assert set(said) == {"250"}
        assert (await client.mail(path, b"x")).startswith("450 4.7.1")
        # The same message with another recipient's part, as a recipient could write it.
        other = MailLinks(road.keys, "", DOMAIN).return_path("cmp_7_1", "eve@example.com")
        assert (await client.mail(other, b"x")).startswith("450 4.7.1")


async def test_a_store_that_is_away_is_451_and_the_report_is_taken_later(tmp_path: Path) -> None:
    with MailServer() as server:
        road = listening_road(tmp_path, relay=server.url)
        async with road, running(road) as listener:
            await sent(road)
            path = server.mails[0].sender
            take = listener._take
            away = True

            async def broken(raw: bytes, to: str) -> object:
                if away:
                    raise StoreUnavailable("the store does not answer")
                return await take(raw, to)

            listener._take = broken
            async with connected(listener.port) as client:
                assert (await client.mail(path, dsn(ANN))).startswith("451 4.3.0")
                assert not (await road.suppressions.list()).suppressions
                away = False
                assert (await client.mail(path, dsn(ANN))).startswith("250")
            assert len((await road.suppressions.list()).suppressions) == 1


async def test_a_second_process_takes_over_when_the_first_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "AGAIN_S", 0.05)
    first = listening_road(tmp_path, port=free_port())
    (tmp_path / "b").mkdir()
    async with first, asyncio.timeout(60):
        async with running(first) as listener:
            port = listener.port
            settings = MailSettings(bounces=f"smtp://127.0.0.1:{port}", bounce_domain=DOMAIN)
            second = type(first)(
                f"sqlite:///{tmp_path}/b/road.db", settings=Settings(mail=settings)
            )
            await second.__aenter__()
            task = asyncio.ensure_future(second.run())
            while second.campaign_service.listener is None:
                await asyncio.sleep(0.01)
            assert second.campaign_service.listener.port == 0
        while not second.campaign_service.listener.port:
            await asyncio.sleep(0.01)
        async with connected(port) as client:
            assert isinstance(client, Client)
        second.stop()
        await task
        await second.__aexit__(None, None, None)


@pytest.mark.parametrize(
    ("bounces", "domain", "why"),
    [
        ("http://127.0.0.1:25", DOMAIN, "lmtp://"),
        ("smtp://127.0.0.1:99999", DOMAIN, "lmtp://"),
        ("smtp://", DOMAIN, "lmtp://"),
        ("smtp://x:25?feedback=nobody", DOMAIN, "no mail address"),
        ("smtp://x:25?size=3", DOMAIN, "feedback=ADDRESS"),
        ("smtp://x:25", "", "mail.bounce_domain"),
    ],
)
def test_a_wrong_address_of_the_listener_is_refused_by_name(
    tmp_path: Path, bounces: str, domain: str, why: str
) -> None:
    from postroad import Postroad

    settings = Settings(mail=MailSettings(bounces=bounces, bounce_domain=domain))
    with pytest.raises(BadSetting, match=f"mail.bounces: .*{why}"):
        Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings)
