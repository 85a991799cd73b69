"""Processes that send a campaign by mail die at random: nobody gets it twice, the sum is exact."""

from pathlib import Path

from tests.mail.mail_kills import mail_kills
from tests.servers.postgres import PrivatePostgres


async def test_a_campaign_by_mail_survives_kills(server: PrivatePostgres, tmp_path: Path) -> None:
    killed = await mail_kills(server.create_road(), tmp_path, recipients=1_000, kills=2, seed=3)
    assert not killed.breaches
