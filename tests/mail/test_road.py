"""Mail through a whole road: sent, stored, tried, and told what became of it."""

from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.credential import CredentialSpec
from postroad.model.errors import BadInput
from postroad.model.mail_settings import MailSettings
from tests.mail.mail_server import MailServer, Moods
from tests.mail.postfix_run import postfix_run
from tests.mail.signing import RSA, pem, verified

MAIL: dict[str, Any] = {"subject": "Hi", "text": "Hello"}


def road_to(folder: Path, relay: str, **mail: Any) -> Postroad:
    settings = MailSettings(relay, **{"sender": "Shop <shop@example.com>", **mail})
    return Postroad(f"sqlite:///{folder}/road.db", settings=Settings(mail=settings))


async def test_a_mail_is_sent_and_delivered(tmp_path: Path) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            receipt = await road.send("mailto:ann@Example.com", {**MAIL, "html": "<b>Hello</b>"})
            await road.run(until_idle=True)
            said = await road.explain(receipt.id)
    assert said.state == "delivered"
    assert "for ann@example.com by smtp@127.0.0.1:smtp was delivered" in said.sentence
    (mail,) = server.mails
    assert mail.recipient == "ann@example.com"
    assert b"From: Shop <shop@example.com>\r\n" in mail.content


async def test_a_million_addresses_would_share_one_queue(tmp_path: Path) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            sent = [(f"mailto:ann{n}@example{n}.com", MAIL) for n in range(50)]
            receipts = await road.send_many(sent)
            await road.run(until_idle=True)
    assert len({receipt.queue for receipt in receipts}) == 1
    assert len(server.mails) == 50


async def test_a_reason_that_there_is_not_is_refused(tmp_path: Path) -> None:
    async with road_to(tmp_path, "smtp://127.0.0.1:9") as road:
        with pytest.raises(BadInput, match="nonsense"):
            await road.send("mailto:ann@example.com", {**MAIL, "despite": ["nonsense"]})
        await road.send("mailto:ann@example.com", {**MAIL, "despite": ["hard_bounce"]})


async def test_a_250_that_is_lost_leaves_the_mail_uncertain(tmp_path: Path) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            receipt = await road.send("mailto:lost@example.com", MAIL)
            await road.run(until_idle=True)
            said = await road.explain(receipt.id)
            assert said.state == "uncertain"
            await road.settle(receipt.id, "sent")
            await road.run(until_idle=True)
            assert (await road.explain(receipt.id)).state == "delivered"
    assert len(server.mails) == 1


async def test_all_that_is_uncertain_of_a_queue_is_settled_at_once(tmp_path: Path) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            lost = [await road.send("mailto:lost@example.com", MAIL) for _ in range(3)]
            good = await road.send("mailto:ann@example.com", MAIL)
            await road.run(until_idle=True)
            with pytest.raises(BadInput, match="settled as"):
                await road.messages.settle("perhaps", queue="smtp*")  # type: ignore[arg-type]
            assert await road.messages.settle("sent", queue="smtp*", tenant="other") == 0
            assert await road.messages.settle("sent", queue="smtp*") == 3
            assert await road.messages.settle("sent", queue="smtp*") == 0
            for one in (*lost, good):
                assert (await road.explain(one.id)).state == "delivered"


@pytest.mark.parametrize(
    ("recipient", "state"),
    [("r550-5.1.1", "dead"), ("r452-4.2.2", "waiting"), ("r550-5.7.1", "waiting")],
)
async def test_a_refusal_is_the_mails_own(tmp_path: Path, recipient: str, state: str) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            refused = await road.send(f"mailto:{recipient}@example.com", MAIL)
            other = await road.send("mailto:ann@example.com", MAIL)
            await road.run(until_idle=True)
            assert (await road.explain(refused.id)).state == state
            assert (await road.explain(other.id)).state == "delivered"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"subject": "a\r\nBcc: eve@example.com", "text": "x"}, "line end"),
        ({"subject": "a\0b", "text": "x"}, "control"),
        ({"subject": "=?utf-8?b?SGk=?=", "text": "x"}, "encoded word"),
        ({"subject": "  ", "text": "x"}, "subject is empty"),
        ({"subject": "x" * 600, "text": "x"}, "600 characters"),
        ({"subject": "x", "text": ""}, "mail is empty"),
        ({"subject": "x", "text": "a\0"}, "zero character"),
        ({"subject": "x", "text": "x", "from": "a@b, c@d"}, "address"),
        ({"subject": "x", "text": "x", "from": "Ann (x) <ann@example.com>"}, "quotes"),
        ({"subject": "x", "text": "x", "to": "ann@example.com\r\nx: y"}, "line end"),
        ({"subject": "x", "text": "x", "headers": {"Bcc": "eve@example.com"}}, "Bcc"),
        ({"subject": "x", "text": "x", "headers": {"X-A": "b\nc"}}, "line end"),
        ({"subject": "x", "text": "x", "headers": {"X A": "b"}}, "no name"),
        ({"subject": "x", "text": "x", "headers": {"X-A": "b" * 1_000}}, "1000 characters"),
        ({"subject": "x", "text": "x", "headers": {"Content-Type": "b"}}, "made by"),
        ({"subject": "x", "text": "x", "attachments": [{"content": "!"}]}, "base64"),
        (
            {"subject": "x", "text": "x", "attachments": [{"content": "aa==", "name": "a/b"}]},
            "slash",
        ),
        ({"subject": "x", "text": "x", "colour": "blue"}, "colour"),
        ({"text": "x"}, "subject"),
        (b"no mail at all", "empty line"),
        (b"From: a@example.com\nFrom: b@example.com\n\nx", "twice"),
        (b"Subject: x\n\nx", "no header From"),
        (b"From: a@example.com\n\n" + b"x" * 1_000, "line of more than 998"),
        (b"From: a@example.com\nX y\n\nx", "no mail header"),
    ],
)
async def test_what_cannot_be_sent_is_refused_at_the_door(
    tmp_path: Path, body: object, why: str
) -> None:
    async with road_to(tmp_path, "smtp://127.0.0.1:1") as road:
        with pytest.raises(BadInput, match=why):
            await road.send("mailto:ann@example.com", body)


@pytest.mark.parametrize(
    "address", ["ann", "ann@", "a b@c.example", '"a"@b.example', "a(x)@b.example", "a@b@c.example"]
)
async def test_an_address_that_is_none_is_refused(tmp_path: Path, address: str) -> None:
    async with road_to(tmp_path, "smtp://127.0.0.1:1") as road:
        with pytest.raises(BadInput, match="no mail address"):
            await road.send(f"mailto:{address}", MAIL)


async def test_without_a_relay_it_is_said_what_to_set(tmp_path: Path) -> None:
    async with Postroad(f"sqlite:///{tmp_path}/road.db") as road:
        with pytest.raises(BadInput, match="credential"):
            await road.send("mailto:ann@example.com", MAIL)


async def test_a_prepared_mail_is_sent_as_it_is(tmp_path: Path) -> None:
    made = b"From: lee@example.com\nTo: all@example.com\nBcc: eve@example.com\nSubject: Hi\n\nH\xc3\xa4\n"
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            receipt = await road.send("mailto:ann@example.com", made)
            await road.run(until_idle=True)
            assert (await road.explain(receipt.id)).state == "delivered"
    content = server.mails[0].content
    assert b"eve@" not in content
    assert b"To: all@example.com\r\n" in content
    assert b"Message-ID: <" in content
    assert content.endswith(b"\r\n\r\nH\xc3\xa4\r\n")


async def test_mails_of_a_credential_with_a_key_are_signed(tmp_path: Path) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            options = {"dkim_domain": "example.com", "dkim_selector": "r"}
            spec = CredentialSpec(sender="Shop <shop@example.com>", options=options)
            await road.credentials.put("smtp", spec, kind="smtp", secrets={"dkim_key": pem(RSA)})
            await road.send("mailto:ann@example.com", {**MAIL, "html": "<b>Grüße</b>"})
            await road.run(until_idle=True)
    assert verified(server.mails[0].content) == [True]


async def test_a_refused_password_holds_the_queue_and_loses_nothing(tmp_path: Path) -> None:
    moods = Moods(login=("lee", "right"), login_in_the_clear=True)
    with MailServer(moods) as server:
        relay = f"smtp://lee:wrong@127.0.0.1:{server.port}"
        async with road_to(tmp_path, relay) as road:
            receipt = await road.send("mailto:ann@example.com", MAIL)
            await road.run(until_idle=True)
            said = await road.explain(receipt.id)
        assert said.state == "held"
        assert "wrong" not in str(said)
        async with road_to(tmp_path, relay.replace("wrong", "right")) as road:
            await road.run(until_idle=True)  # a start with a mended password opens it
            assert (await road.explain(receipt.id)).state == "delivered"


async def test_a_credential_that_is_put_again_opens_its_queues(tmp_path: Path) -> None:
    moods = Moods(login=("lee", "right"), login_in_the_clear=True)
    with MailServer(moods) as server:
        async with road_to(tmp_path, server.url, allow=("127.0.0.0/8",)) as road:
            spec = CredentialSpec(server.url, account="lee", sender="shop@example.com")
            for name in ("main", "other"):
                await road.credentials.put(name, spec, "wrong", kind="smtp", check=False)
            receipt = await road.send("mailto:ann@example.com", MAIL, credential="main")
            other = await road.send("mailto:ann@example.com", MAIL, credential="other")
            await road.run(until_idle=True)
            assert (await road.explain(receipt.id)).state == "held"
            await road.credentials.put("main", spec, "right", kind="smtp")
            await road.run(until_idle=True)
            assert (await road.explain(receipt.id)).state == "delivered"
            assert (await road.explain(other.id)).state == "held"


async def test_postfix_takes_each_mail_once(tmp_path: Path) -> None:
    """A receiver that nobody here wrote: by its own Maildir and log."""
    assert not await postfix_run(tmp_path, mails=300)
