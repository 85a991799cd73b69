"""Attachments that are stored once: mails and campaigns refer to them."""

import asyncio
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.config import Settings
from postroad.model.blobs import BLOB_BYTES_MAX, AttachmentInUse, UnknownAttachment
from postroad.model.credential import CredentialSpec
from postroad.model.errors import BadInput, BodyTooLarge, TenantFull
from postroad.model.mail_settings import MailSettings
from postroad.model.tenant_limits import TenantLimits
from tests.campaigns.conftest import dsn  # noqa: F401 - a fixture
from tests.campaigns.stories import write_csv
from tests.mail.mail_server import MailServer, Received
from tests.mail.signing import RSA, pem, verified
from tests.mail.test_road import MAIL, road_to

LOGO = b"\x89PNG" + bytes(range(256)) * 40
PAPER = b"%PDF" + b"x" * 900_000


def parts(mail: Received) -> list[Message]:
    return [one for one in message_from_bytes(mail.content).walk() if not one.is_multipart()]


def relayed(dsn: str, server: MailServer, **limits: int) -> Postroad:  # noqa: F811
    mail = MailSettings(server.url, sender="shop@example.com", allow=("127.0.0.0/8",))
    return Postroad(dsn, settings=Settings(mail=mail, tenants=TenantLimits(**limits)))


def html(cid: str) -> str:
    return f'<p>Hello <img src="cid:{cid}"></p>'


async def test_a_mail_has_the_attachments_that_it_refers_to(dsn: str) -> None:  # noqa: F811
    with MailServer() as server:
        async with relayed(dsn, server) as road:
            logo = await road.attachments.put(LOGO, "logo.png", cid="logo")
            paper = await road.attachments.put(PAPER, "paper.pdf")
            assert (paper.type, paper.size) == ("application/pdf", len(PAPER))
            body = {**MAIL, "html": html("logo"), "attachments": [logo, paper]}
            for number in range(3):
                await road.send(f"mailto:ann{number}@example.com", body)
            await road.run(until_idle=True)
            stored = await road.attachments.list()
            assert [one.size for one in stored.attachments] == [
                size for _, size in sorted([(logo.id, len(LOGO)), (paper.id, len(PAPER))])
            ]
    assert len(server.mails) == 3
    for mail in server.mails:
        _, _, image, file = parts(mail)
        assert (image["Content-ID"], image.get_payload(decode=True)) == ("<logo>", LOGO)
        assert (file.get_filename(), file.get_payload(decode=True)) == ("paper.pdf", PAPER)


async def test_a_campaign_refers_to_attachments_and_its_mails_are_signed_with_them(
    dsn: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    with MailServer() as server:
        async with relayed(dsn, server) as road:
            options = {"dkim_domain": "example.com", "dkim_selector": "r"}
            spec = CredentialSpec(server.url, sender="shop@example.com", options=options)
            secrets = {"dkim_key": pem(RSA)}
            await road.credentials.put("main", spec, "", kind="smtp", secrets=secrets, check=False)
            logo = await road.attachments.put(LOGO, "logo.png", cid="logo")
            await road.campaigns.create(
                "c", credential="main", subject="Hi", html=html("logo"), attachments=[logo]
            )
            assert (await road.campaigns.details("c")).attachments == (logo,)
            people = [f"p{n}@example.com" for n in range(4)]
            await road.campaigns.import_file("c", write_csv(tmp_path / "p.csv", people))
            with pytest.raises(AttachmentInUse):
                await road.attachments.remove(logo.id)
            await road.campaigns.clone("c", "d")
            await road.campaigns.start("c")
            await road.run(until_idle=True)
            assert (await road.campaigns.show("c")).counts.sent == 4
            await road.campaigns.edit("d", attachments=[])
            old = await road.attachments.put(b"old", "old.txt")
            await road.campaigns.edit("d", attachments=[old])
            with pytest.raises(AttachmentInUse):
                await road.attachments.remove(old.id)
            await road.campaigns.edit("d", attachments=[])
            await road.attachments.remove(old.id)
    assert len(server.mails) == 4
    for mail in server.mails:
        assert parts(mail)[-1].get_payload(decode=True) == LOGO
        assert verified(mail.content) == [True]


async def test_what_cannot_be_referred_to_is_refused_and_nothing_is_stored(
    dsn: str,  # noqa: F811
) -> None:
    with MailServer() as server:
        async with relayed(dsn, server, attachments_bytes_max=BLOB_BYTES_MAX + 10) as road:
            for content, why in ((b"", "empty"), (bytes(BLOB_BYTES_MAX + 1), "at most")):
                with pytest.raises(BadInput, match=why):
                    await road.attachments.put(content, "a")
            with pytest.raises(BadInput, match="slash"):
                await road.attachments.put(b"x", "../a")
            with pytest.raises(BadInput, match="cid"):
                await road.attachments.put(b"x", "a", cid="a b")
            large = await road.attachments.put(bytes(BLOB_BYTES_MAX), "a.bin")
            small = await road.attachments.put(b"small", "b.bin")
            with pytest.raises(TenantFull, match="attachments_bytes_max"):
                await road.attachments.put(b"one more", "c")
            assert await road.attachments.put(b"small", "again") == replace(small, name="again")
            for files, wrong, why in (
                ([large, small], BodyTooLarge, "attachments have"),
                ([replace(small, id="blob_" + "0" * 48)], BadInput, "put it first"),
                ([replace(small, id="../../etc")], BadInput, "id"),
                ([{"id": small.id, "content": "YQ=="}], BadInput, "or its `content`"),
                ([{"name": "a"}], BadInput, "`id`"),
            ):
                body: Any = {**MAIL, "attachments": files}
                with pytest.raises(wrong, match=why):
                    await road.send("mailto:ann@example.com", body)
            with pytest.raises(BadInput, match="put it first"):  # it is another tenant's
                mine = {**MAIL, "attachments": [small]}
                await road.send("mailto:ann@example.com", mine, tenant="other")
            with pytest.raises(UnknownAttachment):
                await road.attachments.get(small.id, tenant="other")
            assert await road.attachments.get(small.id) == b"small"
            await road.run(until_idle=True)
    assert not server.mails


async def test_an_attachment_in_use_stays_and_one_that_is_gone_is_told(tmp_path: Path) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            file = await road.attachments.put(b"paper", "a.txt")
            body = {**MAIL, "attachments": [file]}
            receipt = await road.send("mailto:ann@example.com", body, delay=3_600)
            with pytest.raises(AttachmentInUse):
                await road.attachments.remove(file.id)
            other = await road.attachments.put(b"nobody's", "b.txt")
            await road.attachments.remove(other.id)
            with pytest.raises(UnknownAttachment):
                await road.attachments.remove(other.id)
            with pytest.raises(BadInput, match="put it first"):
                gone = {**MAIL, "attachments": [other]}
                await road.send("mailto:ann@example.com", gone)
            assert (await road.explain(receipt.id)).state == "waiting"


@pytest.mark.wide
async def test_eighteen_megabytes_do_not_stop_the_others(tmp_path: Path) -> None:
    """The largest mail is made beside the loop: others go on meanwhile."""
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            large = await road.attachments.put(bytes(BLOB_BYTES_MAX), "a.bin")
            for number in range(3):
                body = {**MAIL, "attachments": [large] if number == 0 else []}
                await road.send(f"mailto:ann{number}@example.com", body)
            async with asyncio.timeout(60):
                await road.run(until_idle=True)
    sizes = sorted(len(mail.content) for mail in server.mails)
    assert len(sizes) == 3
    assert sizes[-1] > 24_000_000
    assert server.mails[-1].recipient == "ann0@example.com"


async def test_a_person_is_erased_with_what_only_its_mails_have(
    dsn: str,  # noqa: F811
) -> None:
    with MailServer() as server:
        async with relayed(dsn, server) as road:
            own = await road.attachments.put(b"Ann's invoice", "invoice.txt")
            shared = await road.attachments.put(b"terms", "terms.txt")
            await road.send("mailto:ann@example.com", {**MAIL, "attachments": [own, shared]})
            await road.send(
                "mailto:bob@example.com", {**MAIL, "attachments": [shared]}, delay=3_600
            )
            await road.run(until_idle=True)
            pieces = [one async for one in road.privacy.export(recipient="mailto:ann@example.com")]
            assert own.id.encode() in b"".join(pieces)
            job = await road.privacy.erase(recipient="mailto:ann@example.com")
            assert (await road.privacy.erasure(job.id, wait=30)).is_done
            left = [one.id for one in (await road.attachments.list()).attachments]
            assert left == [shared.id]
            job = await road.privacy.erase(tenant="default")
            assert (await road.privacy.erasure(job.id, wait=30)).is_done
            assert (await road.attachments.list()).attachments == ()


async def test_a_mail_with_an_attachment_is_sent_in_the_callers_transaction(tmp_path: Path) -> None:
    """Its use is noted by the same transaction: nothing waits for its end."""
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            file = await road.attachments.put(b"paper", "a.txt")
            body = {**MAIL, "attachments": [file]}
            connection = road.connection()
            connection.execute("begin immediate")
            await road.send_in(connection, "mailto:bob@example.com", body)
            connection.execute("rollback")
            await road.attachments.remove(file.id)
            file = await road.attachments.put(b"paper", "a.txt")
            with connection:
                await road.send_in(connection, "mailto:ann@example.com", body)
            with pytest.raises(AttachmentInUse):
                await road.attachments.remove(file.id)
            await road.run(until_idle=True)
    (mail,) = server.mails
    assert parts(mail)[-1].get_payload(decode=True) == b"paper"
