"""A campaign's mail says how to leave and where it comes back to; both lead to the list."""

import re
from pathlib import Path

import pytest

from postroad.config import Settings
from postroad.model.credential import CredentialSpec
from postroad.model.errors import BadSetting
from postroad.model.mail_settings import MailSettings
from tests.campaigns.stories import write_csv
from tests.mail.mail_server import MailServer
from tests.mail.test_road import road_to
from tests.suppressions.reports import dsn

PEOPLE = ["ann@example.com", "bob@example.com", "sue@example.com"]


async def test_a_link_and_a_bounce_of_real_mails_keep_the_next_campaign_away(
    tmp_path: Path,
) -> None:
    with MailServer() as server:
        urls = {"public_url": "https://road.example.com", "bounce_domain": "bounces.example.com"}
        async with road_to(tmp_path, server.url, allow=("127.0.0.0/8",), **urls) as road:
            spec = CredentialSpec(server.url, sender="shop@example.com")
            await road.credentials.put("main", spec, "", kind="smtp", check=False)
            for name in ("first", "second"):
                await road.campaigns.create(name, credential="main", template="Hi", subject="Hi")
                await road.campaigns.import_file(name, write_csv(tmp_path / "p.csv", PEOPLE))
            await road.campaigns.start("first")
            await road.run(until_idle=True)
            sent = {mail.recipient: mail for mail in server.mails}
            assert sorted(sent) == PEOPLE
            ann = sent["ann@example.com"].content.decode()
            assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in ann
            found = re.search(r"unsubscribe\?t=([\w-]+)", ann.replace("\r\n ", ""))
            assert found is not None
            unsubscribing = road.campaign_service.unsubscribing
            who = unsubscribing.subscriber(found[1])
            assert who is not None
            await unsubscribing.unsubscribe(who)
            path = sent["bob@example.com"].sender
            taken = await road.suppressions.take_report(dsn("bob@example.com"), to=path)
            assert taken.suppressed == 1
            (bob,) = [one for one in await road.campaigns.recipients("first") if one.n == 2]
            assert (bob.status, bob.code) == ("bounced", "5.1.1")
            entries = (await road.suppressions.list()).suppressions
            assert {(one.recipient, one.reason, one.campaign) for one in entries} == {
                ("ann@example.com", "unsubscribed", "first"),
                ("bob@example.com", "hard_bounce", "first"),
            }
            await road.campaigns.start("second")
            await road.run(until_idle=True)
            counts = (await road.campaigns.show("second")).counts
            assert (counts.sent, counts.suppressed) == (1, 2)
    assert [mail.recipient for mail in server.mails[3:]] == ["sue@example.com"]


@pytest.mark.parametrize("wrong", [{"public_url": "road.example.com"}, {"bounce_domain": "a b"}])
def test_a_wrong_address_of_links_is_refused_by_name(tmp_path: Path, wrong: dict[str, str]) -> None:
    with pytest.raises(BadSetting, match=f"mail.{next(iter(wrong))}"):
        road_to(tmp_path, "", **wrong)
    assert Settings(mail=MailSettings()).mail.public_url == ""
