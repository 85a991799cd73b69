"""A provider that throttles, is away, or refuses the credential."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad.transports import vetted_http
from postroad.transports.webhook.connections import ConnectionPool, HttpAnswer
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running

Within = Callable[[Any], Any]


@pytest.mark.wide
def test_what_is_throttled_is_sent_later_and_once(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    people = [*numbers(1, "+1512"), *numbers(20)]

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, people)
            await road.campaigns.start("c")
            done = await reaches(road, "done")
            assert done.counts.sent == len(people)
            assert (await road.credentials.show("main")).blocked_until_ms == 0

    within(story())
    assert provider.taken() == Counter(people)
    assert sum(one.what == "throttled" for one in provider.arrivals()) == 2


def test_a_provider_that_is_away_is_not_asked_again_and_again_and_nothing_is_uncertain(
    dsn: str, tmp_path: Path, within: Within
) -> None:
    people = numbers(50)

    async def story() -> None:
        async with running(local(dsn)) as road:
            with Provider(tmp_path) as provider:
                await prepare(road, provider, tmp_path, people)
            await road.campaigns.start("c")
            async with asyncio.timeout(60):
                while not (await road.credentials.show("main")).blocked_until_ms:
                    await asyncio.sleep(0.05)
            counts = await road.campaigns.exact("c")
            assert (counts.unsent, counts.uncertain) == (len(people), 0)
            assert (await road.campaigns.show("c")).block_reason

    within(story())


def test_a_refused_credential_halts_the_campaign_with_the_reason(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(5))
            await road.credentials.put(
                "main", provider.spec(), "wrong, but long enough", check=False
            )
            await road.campaigns.start("c")
            halted = await reaches(road, "halted")
            assert "Authenticate" in halted.reason
            assert halted.counts.unsent == 5
            await road.credentials.put("main", provider.spec(), TOKEN)
            async with asyncio.timeout(60):
                while True:
                    await road.campaigns.resume("c")
                    break
            await reaches(road, "done")

    within(story())
    assert set(provider.taken().values()) == {1}


def test_a_provider_that_takes_it_and_is_silent_leaves_it_uncertain(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ConnectionPool.call

    async def soon_given_up(
        self: ConnectionPool, request: bytes, connect_s: float, until_s: float, most: int
    ) -> HttpAnswer:
        if b"1513" in request:  # the others may be answered as late as this machine likes
            until_s = asyncio.get_running_loop().time() + 1.0
        return await call(self, request, connect_s, until_s, most)

    monkeypatch.setattr(vetted_http, "TIMEOUT_S", 60.0)
    monkeypatch.setattr(ConnectionPool, "call", soon_given_up)

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, [*numbers(2, "+1513"), *numbers(3)])
            await road.campaigns.start("c")
            done = await reaches(road, "done")
            assert (done.counts.sent, done.counts.uncertain) == (3, 2)
            found = await road.campaigns.recipients("c", state="uncertain")
            assert {one.sub_type for one in found} == {"no_answer"}

    within(story())
    assert set(provider.taken().values()) == {1}
