"""Upgrades: a fleet of two releases on PostgreSQL, a file on SQLite, and a road that is too new."""

import asyncio
import json
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.errors import SchemaTooNew
from tests.servers.postgres import PrivatePostgres
from tests.upgrades.crew import command
from tests.upgrades.next_release import make_next, upgrade_under_load


async def opened(dsn: str) -> None:
    async with Postroad(dsn):
        pass


@pytest.mark.wide
def test_a_file_is_moved_on_when_the_next_release_opens_it(tmp_path: Path) -> None:
    """And this release then refuses it by name, and changes nothing."""
    dsn = f"sqlite:///{tmp_path}/road.db"

    async def fill() -> str:
        road = Postroad(dsn)
        road.handler("good")(print)
        async with road:
            return (await road.send("good", 1)).id

    number = asyncio.run(fill())
    release = make_next(tmp_path / "next")
    for _ in range(2):  # the second finds it moved on
        shown = command(release, "message", "show", number, "--json", "--dsn", dsn)
        assert json.loads(shown.stdout)["state"] == "waiting", shown.stderr
    with pytest.raises(SchemaTooNew, match="upgrade Postroad"):
        asyncio.run(opened(dsn))
    refused = command(None, "stats", "--dsn", dsn)
    assert (refused.returncode, "upgrade Postroad" in refused.stderr) == (3, True)
    again = command(release, "message", "show", number, "--json", "--dsn", dsn)
    assert json.loads(again.stdout)["state"] == "waiting"


@pytest.mark.wide
def test_a_database_that_is_too_new_is_refused_by_name(
    tmp_path: Path, server: PrivatePostgres
) -> None:
    dsn = server.create_database()
    asyncio.run(opened(dsn))
    release = make_next(tmp_path / "next", oldest=101)
    assert command(release, "migrate", "--dsn", dsn).returncode == 0
    with pytest.raises(SchemaTooNew, match="upgrade Postroad"):
        asyncio.run(opened(dsn))
    refused = command(None, "migrate", "--json", "--dsn", dsn)  # and nothing is put back
    assert json.loads(refused.stdout)["steps"] == 0, refused.stderr
    assert command(release, "stats", "--dsn", dsn).returncode == 0


@pytest.mark.wide
def test_two_releases_work_on_one_road_and_nobody_notices(
    tmp_path: Path, server: PrivatePostgres
) -> None:
    """Four kinds of senders of each release; a function of the newer writes what the older one does
    not know."""
    seen = upgrade_under_load(tmp_path, server.create_database(), each=20)
    assert (seen.errors, seen.missing, seen.ghosts, seen.steps) == ([], 0, 0, 1)
    assert seen.colours == {"red", "green"}
    assert seen.accepted >= 4 * (5 + 3) * 20
