"""A campaign by mail and single mails through one relay share its lane."""

import asyncio
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.model.credential import CredentialSpec
from postroad.model.errors import BadInput
from tests.campaigns.stories import reaches, running, until, used_up, write_csv
from tests.mail.mail_server import MailServer
from tests.mail.test_road import MAIL, road_to

QUEUE = "smtp@127.0.0.1:main"


async def prepared(road: Postroad, server: MailServer, folder: Path, people: list[str]) -> None:
    spec = CredentialSpec(server.url, sender="shop@example.com")
    await road.credentials.put("main", spec, "", kind="smtp", check=False)
    await road.campaigns.create("c", credential="main", template="Hi", subject="Hi")
    await road.campaigns.import_file("c", write_csv(folder / "p.csv", people))


async def test_a_campaign_waits_for_the_open_circuit_of_its_relays_lane(tmp_path: Path) -> None:
    with MailServer() as server:
        allow = ("127.0.0.0/8",)
        async with running(road_to(tmp_path, server.url, allow=allow)) as road:
            await prepared(road, server, tmp_path, ["ann@example.com", "bob@example.com"])
            await road.rules.put(
                "slow", lanes="smtp:*", do="hold_lane", lasts=3_600, status="451", code="4.7.1"
            )
            to = "mailto:r451-4.7.1@example.com"
            receipt = await road.send(to, MAIL, credential="main")

            async def held() -> bool:
                return (await road.explain(receipt.id)).because.startswith("lane held")

            await until(held)
            await road.campaigns.start("c")
            lane = (await road.explain_queue(QUEUE)).lanes[0].id
            await asyncio.sleep(1.2)
            assert not server.mails
            assert (await road.cancel(receipt.id)).state == "cancelled"
            await road.lanes.unblock(lane)
            assert (await reaches(road, "done")).counts.sent == 2
    assert len(server.mails) == 2


async def test_a_named_limit_of_the_relay_holds_for_campaigns(tmp_path: Path) -> None:
    with MailServer() as server:
        async with running(road_to(tmp_path, server.url, allow=("127.0.0.0/8",))) as road:
            await road.limits.put("one", lanes="smtp:127.0.0.1", rate="3/h")
            await prepared(road, server, tmp_path, [f"p{n}@example.com" for n in range(9)])
            await road.campaigns.start("c")

            await until(used_up(road, QUEUE))
            assert len(server.mails) <= 3
            await road.limits.delete("one")
            assert (await reaches(road, "done")).counts.sent == 9
    assert len(server.mails) == 9


async def test_addresses_are_one_recipient_whatever_the_case_of_their_domain(
    tmp_path: Path,
) -> None:
    """The local part counts as it is written: a server may tell `Ann` from `ann`."""
    with MailServer() as server:
        async with road_to(tmp_path, server.url, allow=("127.0.0.0/8",)) as road:
            people = ["ann@example.com", "ann@Example.COM", "Ann@example.com"]
            await prepared(road, server, tmp_path, people)
            assert (await road.campaigns.show("c")).counts.total == 2


async def test_a_body_names_nobody_but_its_recipient(tmp_path: Path) -> None:
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            with pytest.raises(BadInput, match=r"is sent to ann@example\.com"):
                await road.send("mailto:ann@example.com", {**MAIL, "to": "Bob <bob@example.com>"})
            named = {**MAIL, "to": "Ann Lee <Ann@Example.com>"}
            await road.send("MAILTO:ann@example.com", named)
            await road.run(until_idle=True)
    (mail,) = server.mails
    assert b"To: Ann Lee <Ann@example.com>" in mail.content


async def test_a_mail_says_how_to_leave_where_it_is_asked_to(tmp_path: Path) -> None:
    link = {"subject": "News", "html": '<a href="{{ unsubscribe_url }}">leave</a>'}
    with MailServer() as server:
        url, allow = "https://road.example.com", ("127.0.0.0/8",)
        async with road_to(tmp_path, server.url, public_url=url, allow=allow) as road:
            await road.send("mailto:ann@example.com", {**link, "unsubscribe": True})
            await prepared(road, server, tmp_path, ["bob@example.com"])
            await road.campaigns.edit("c", html=link["html"], template="{{ unsubscribe_url }}")
            await road.campaigns.start("c")
            await road.run(until_idle=True)
        texts = [
            mail.content.replace(b"=\r\n", b"").replace(b"\r\n ", b"") for mail in server.mails
        ]
        assert len(texts) == 2
        for text in texts:
            assert b"List-Unsubscribe-Post: List-Unsubscribe=One-Click" in text
            assert b"unsubscribe_url" not in text
            assert text.count(b"https://road.example.com/unsubscribe?t=") >= 2
        (tmp_path / "other").mkdir()
        async with road_to(tmp_path / "other", server.url) as road:
            with pytest.raises(BadInput, match=r"set mail\.public_url"):
                await road.send("mailto:ann@example.com", link)
