"""Messages are listed by the recipient that they name."""

from typing import Any

import pytest

from postroad.model.errors import BadInput
from tests.campaigns.conftest import dsn  # noqa: F401 - a fixture
from tests.mail.mail_server import MailServer
from tests.mail.test_attachments import relayed
from tests.mail.test_road import MAIL


async def test_messages_are_listed_by_their_recipient(dsn: str) -> None:  # noqa: F811
    with MailServer() as server:
        async with relayed(dsn, server) as road:
            anns = [await road.send("mailto:ann@example.com", MAIL) for _ in range(5)]
            dead = await road.send("mailto:r550-5.1.1@example.com", MAIL)
            await road.send("mailto:bob@example.com", MAIL)
            await road.run(until_idle=True)
            anns.append(await road.send("mailto:ann@example.com", MAIL, delay=3_600))
            ids = [one.id for one in anns]

            async def listed(recipient: str = "mailto:ann@Example.com", **more: Any) -> list[str]:
                found, after = [], ""
                while True:
                    page = await road.messages.list(
                        recipient=recipient, limit=2, after=after, **more
                    )
                    assert {one.recipient for one in page.messages} <= {
                        recipient.partition(":")[2].replace("E", "e")
                    }
                    found += [one.id for one in page.messages]
                    if not (after := page.after):
                        return found

            assert await listed() == ids[::-1]
            assert await listed(order="oldest") == ids
            assert await listed(state="delivered", order="oldest") == ids[:-1]
            assert await listed(tenant=None) == ids[::-1]
            assert await listed(tenant="other") == []
            assert await listed("mailto:r550-5.1.1@example.com") == [dead.id]
            assert await listed("sms:+6591234567") == []
            with pytest.raises(BadInput, match="neither a mail address"):
                await listed("ann")
