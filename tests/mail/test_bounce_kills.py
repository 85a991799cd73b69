"""What the listener has answered with 250 is stored, whatever happens to its process then."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.mail.bounce_client import Client, connected, listening_road
from tests.mail.mail_server import MailServer
from tests.servers import free_port
from tests.suppressions.reports import dsn

ROOT = Path(__file__).parents[2]
PEOPLE = [f"ann{number}@example.com" for number in range(3)]


async def reported(folder: Path, to: str, raw: bytes) -> str:
    """Report to a process of its own, which is killed with the answer."""
    port = free_port()
    command = ("-m", "tests.mail.listening_process", str(folder), str(port))
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=PIPE, cwd=ROOT)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"listening\n"
            async with connected(port) as client:
                assert isinstance(client, Client)
                return await client.mail(to, raw)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.timeout(180)
async def test_a_report_that_was_answered_is_stored_although_the_process_is_killed(
    tmp_path: Path,
) -> None:
    with MailServer() as server:
        async with listening_road(tmp_path, relay=server.url) as road:
            mail = {"subject": "Hi", "text": "Hello"}
            await road.send_many([(f"mailto:{who}", mail) for who in PEOPLE])
            await road.run(until_idle=True)
    paths = {mail.recipient: mail.sender for mail in server.mails}
    for who in PEOPLE:
        assert (await reported(tmp_path, paths[who], dsn(who))).startswith("250")
    async with listening_road(tmp_path) as road:
        found = (await road.suppressions.list()).suppressions
    assert sorted(one.recipient for one in found) == PEOPLE
