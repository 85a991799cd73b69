"""A road with campaigns moves from SQLite to PostgreSQL, and goes on there."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad.stores.copying import copy
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running, until
from tests.servers.postgres import PrivatePostgres

Within = Callable[[Any], Any]


def test_a_stopped_campaign_goes_on_in_another_store(
    server: PrivatePostgres,
    provider: Provider,
    tmp_path: Path,
    within: Within,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = f"sqlite:///{tmp_path}/road.db", server.create_database()
    people = numbers(120)

    async def story() -> None:
        async with running(local(old)) as road:
            await prepare(road, provider, tmp_path, people, rate="5/s")
            await road.campaigns.start("c")

            async def begun() -> bool:
                return len(provider.arrivals()) >= 3

            await until(begun)
            await road.campaigns.stop("c")
        async with local(old) as road:
            before = await road.campaigns.exact("c")
        done = await copy(old, new, lambda *_: None)
        monkeypatch.setenv("POSTROAD_KEYS_FILE", done.keys_file)
        async with running(local(new)) as road:
            assert await road.campaigns.exact("c") == before
            await road.credentials.put("main", provider.spec(), TOKEN)  # as fast as it can
            await road.campaigns.resume("c")
            assert (await reaches(road, "done")).counts.sent == len(people)

    within(story())
    assert provider.taken() == Counter(people)
