"""A process that is told to end does so, whether its store is there or not."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.campaigns import crew
from postroad.model.limits import Limits
from tests.campaigns.provider import Provider
from tests.campaigns.stories import LOCAL, local, numbers, prepare, reaches, running, until
from tests.servers.postgres import PrivatePostgres
from tests.servers.proxy import Proxy

Within = Callable[[Any], Any]


def test_what_cannot_be_written_at_the_end_is_uncertain_and_not_sent_again(
    server: PrivatePostgres, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results waited for a store that never came back, and the process with them."""
    monkeypatch.setattr(crew, "LEASE_MS", 2_000)
    dsn = server.create_road()

    async def leave(provider: Provider, proxy: Proxy) -> None:
        road = Postroad(proxy.dsn(), settings=replace(LOCAL, limits=Limits(drain_s=1.0)))
        async with running(road):
            await prepare(road, provider, tmp_path, numbers(3))
            await road.campaigns.start("c")

            async def begun() -> bool:
                return len(provider.arrivals()) == 3

            await until(begun)
            await asyncio.to_thread(proxy.down)

    async def look() -> None:
        async with running(local(dsn)) as road:
            await reaches(road, "done")
            assert (await road.campaigns.exact("c")).uncertain == 3

    with Provider(tmp_path, latency_ms=1_000) as provider:
        with Proxy(dsn) as proxy:
            within(leave(provider, proxy))
        within(look())
        assert len(provider.arrivals()) == 3
