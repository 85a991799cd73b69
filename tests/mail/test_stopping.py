"""A campaign by mail that is stopped while its mails wait for a connection."""

import asyncio
from pathlib import Path

from postroad.model.credential import CredentialSpec
from tests.campaigns.stories import until, write_csv
from tests.mail.mail_server import MailServer
from tests.mail.test_road import road_to

SESSIONS = 2


async def test_a_stopped_campaign_sends_only_what_was_on_the_wire(tmp_path: Path) -> None:
    people = [f"slow{number}@example.com" for number in range(60)]
    with MailServer() as server:
        async with road_to(tmp_path, f"{server.url}?sessions={SESSIONS}") as road:
            await road.credentials.put("main", CredentialSpec(), kind="smtp")
            await road.campaigns.create("c", credential="main", template="Hello", subject="Hi")
            await road.campaigns.import_file("c", write_csv(tmp_path / "c.csv", people))
            run = asyncio.create_task(road.run())
            await road.campaigns.start("c")

            async def some() -> bool:
                return len(server.mails) >= SESSIONS

            async def released() -> bool:
                _, _, live = await road.campaign_service.store.due()
                return not live

            await until(some)
            _ = await road.campaigns.stop("c")
            stopped = len(server.mails)
            await until(released)
            counts = await road.campaigns.exact("c")
            road.stop()
            await run
    assert counts.sent == len(server.mails)
    assert counts.sent + counts.unsent == len(people)
    assert len(server.mails) <= stopped + 2 * SESSIONS
