"""The guide for mail: what it shows as Python is sent as it says."""

from pathlib import Path

from tests.guides.running import examples
from tests.mail.mail_server import MailServer
from tests.mail.test_road import road_to

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "mail.md"


async def test_the_mail_of_the_guide_arrives(tmp_path: Path) -> None:
    (example,) = examples(GUIDE)
    names: dict[str, object] = {}
    body = example.code.replace("\n", "\n    ")
    exec(f"async def shown(road):\n    {body}", names)
    shown = names["shown"]
    assert callable(shown)
    with MailServer() as server:
        async with road_to(tmp_path, server.url) as road:
            await shown(road)
            await road.run(until_idle=True)
    (mail,) = server.mails
    assert mail.recipient == "ann@example.com"
    assert b"Subject: Hi\r\n" in mail.content
