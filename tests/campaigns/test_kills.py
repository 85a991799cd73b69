"""Sender processes die at random: nobody gets it twice, the limit holds, the counts add up."""

import asyncio
from pathlib import Path

from tests.campaigns.killing import killed_run, paced_run, sqlite_kills, without_intents
from tests.servers.postgres import PrivatePostgres


def test_four_senders_that_are_killed_stay_within_the_limit_of_one_credential(
    server: PrivatePostgres, tmp_path: Path
) -> None:
    paced = asyncio.run(
        paced_run(server.create_road(), tmp_path, rate=50, seconds=3, kills=2, seed=1)
    )
    assert paced.busiest <= 50
    assert paced.twice == 0


def test_kills_and_stops_send_nothing_twice_and_lose_nobody(
    server: PrivatePostgres, tmp_path: Path
) -> None:
    killed = asyncio.run(
        killed_run(server.create_road(), tmp_path, recipients=1_500, kills=2, stops=1, seed=2)
    )
    assert not killed.breaches


def test_a_sqlite_road_that_is_killed_sends_nothing_twice(tmp_path: Path) -> None:
    killed = asyncio.run(sqlite_kills(f"sqlite:///{tmp_path}/road.db", tmp_path, 1_600, kills=2))
    assert not killed.breaches


def test_without_intents_before_the_calls_the_breach_is_named(
    server: PrivatePostgres, tmp_path: Path
) -> None:
    dsn = server.create_road()
    assert "recipients got it twice" in asyncio.run(without_intents(dsn, tmp_path))
