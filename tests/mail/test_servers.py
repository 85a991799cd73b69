"""What servers do, and what it means: defer, greylist, drop, lie, close, answer slowly."""

import asyncio

import pytest

from postroad.model.outcome import Kind
from tests.mail.mail_server import MailServer, Moods
from tests.mail.sessions import MAIL, line


async def test_a_mail_arrives_as_it_was_made() -> None:
    with MailServer() as server:
        async with line(server.url) as road:
            outcome = await road.send("ann@example.com", number=7)
    (mail,) = server.mails
    assert (outcome.kind, outcome.provider.id) == (Kind.delivered, "Q1")
    assert (mail.sender, mail.recipient) == ("lee@example.com", "ann@example.com")
    assert b"Subject: Hi\r\n" in mail.content
    assert mail.content.endswith(b"\r\n\r\nHello\r\n")
    assert b"Message-ID: <msg_0000000000007-15@example.com>\r\n" in mail.content


@pytest.mark.parametrize("pipelining", [True, False])
async def test_one_connection_carries_many_mails(pipelining: bool) -> None:  # noqa: FBT001
    with MailServer(Moods(pipelining=pipelining)) as server:
        async with line(f"{server.url}?mails=5") as road:
            for n in range(12):
                assert (await road.send(f"ann{n}@example.com")).kind is Kind.delivered
    assert len(server.mails) == 12
    assert server.book.sessions == 3


@pytest.mark.parametrize(
    ("recipient", "kind", "code", "about"),
    [
        ("r550-5.1.1", Kind.rejected, "5.1.1", "mailbox"),
        ("r550", Kind.rejected, "550", "mailbox"),
        ("r550-5.7.1", Kind.failed, "5.7.1", "policy"),
        ("r452-4.2.2", Kind.failed, "4.2.2", "mailbox_full"),
        ("r552-5.2.2", Kind.rejected, "5.2.2", "mailbox_full"),
        ("r452-4.5.3", Kind.failed, "4.5.3", "too_many"),
        ("r421-4.7.0", Kind.unreachable, "4.7.0", "server"),
        ("r450", Kind.failed, "450", "mailbox"),
        ("d451-4.3.0", Kind.failed, "4.3.0", "server"),
        ("d554-5.7.1", Kind.failed, "5.7.1", "policy"),
        ("d552-5.3.4", Kind.rejected, "5.3.4", "size"),
        ("d550-5.6.0", Kind.rejected, "5.6.0", "content"),
        ("d554", Kind.failed, "554", "policy"),
        ("d421-4.3.2", Kind.unreachable, "4.3.2", "server"),
    ],
)
async def test_what_is_refused(recipient: str, kind: Kind, code: str, about: str) -> None:
    with MailServer() as server:
        async with line(server.url) as road:
            outcome = await road.send(f"{recipient}@example.com")
            after = await road.send("ann@example.com")
    assert (outcome.kind, outcome.provider.code) == (kind, code)
    assert outcome.provider.sub_type == about
    assert after.kind is Kind.delivered
    assert [mail.recipient for mail in server.mails] == ["ann@example.com"]


async def test_greylisting_passes_at_the_next_try() -> None:
    with MailServer() as server:
        async with line(server.url) as road:
            kinds = [(await road.send("grey@example.com")).kind for _ in range(2)]
    assert kinds == [Kind.failed, Kind.delivered]


@pytest.mark.parametrize("recipient", ["lost", "drop"])
async def test_no_answer_to_the_content_is_unknown(recipient: str) -> None:
    with MailServer() as server:
        async with line(server.url) as road:
            outcome = await road.send(f"{recipient}@example.com")
            after = await road.send("ann@example.com")
    assert (outcome.kind, after.kind) == (Kind.unknown, Kind.delivered)


@pytest.mark.parametrize("says_421", [True, False])
async def test_a_server_that_closes_after_some_mails_is_not_blamed(says_421: bool) -> None:  # noqa: FBT001
    with MailServer(Moods(closes_after=3, says_421=says_421)) as server:
        async with line(server.url) as road:
            for n in range(10):
                assert (await road.send(f"ann{n}@example.com")).kind is Kind.delivered
                await asyncio.sleep(0.02 if n % 3 == 2 else 0)
    assert len({mail.recipient for mail in server.mails}) == len(server.mails) == 10


async def test_a_size_that_is_said_is_kept_to_and_one_that_is_a_lie_is_refused_later() -> None:
    large = {**MAIL, "text": "x" * 70 + "\n" * 2_000}
    with MailServer(Moods(size=1_000)) as server:
        async with line(server.url) as road:
            outcome = await road.send("ann@example.com", large)
    assert (outcome.kind, outcome.provider.code) == (Kind.rejected, "5.3.4")
    assert not server.mails
    with MailServer(Moods(size=1_000_000)) as server:
        async with line(server.url) as road:
            outcome = await road.send("d552-5.3.4@example.com", large)
    assert outcome.kind is Kind.rejected


async def test_slow_answers_are_waited_for() -> None:
    with MailServer() as server:
        async with line(f"{server.url}?sessions=2") as road:
            outcomes = await asyncio.gather(*(road.send(f"slow{n}@example.com") for n in range(4)))
    assert {outcome.kind for outcome in outcomes} == {Kind.delivered}
    assert server.book.sessions == 2


async def test_addresses_beyond_ascii_need_a_server_that_takes_them() -> None:
    with MailServer(Moods(utf8=True)) as server:
        async with line(server.url) as road:
            assert (await road.send("jürgen@example.com")).kind is Kind.delivered
    assert "SMTPUTF8" in server.mails[0].options
    with MailServer() as server:
        async with line(server.url) as road:
            outcome = await road.send("jürgen@example.com")
    assert (outcome.kind, outcome.provider.code) == (Kind.rejected, "5.6.7")
