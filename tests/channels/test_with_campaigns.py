"""Campaigns and single messages of one credential share its lane: limit, pause, blocks, circuit."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from tests.campaigns.provider import TOKEN, Provider, busiest
from tests.campaigns.stories import draft, local, numbers, reaches, running, until

Within = Callable[[Any], Any]
HELLO = {"text": "Hello"}


async def campaign(road: Postroad, provider: Provider, folder: Path, people: list[str]) -> None:
    await road.credentials.put("main", provider.spec(rate="20/s"), TOKEN)
    await draft(road, folder, people, "c")


def test_a_credentials_limit_holds_over_campaigns_and_single_messages(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    people, others = numbers(30), numbers(30, "+1700")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await campaign(road, provider, tmp_path, people)
            for number in others:
                await road.send(f"sms:{number}", HELLO, credential="main")
            await road.campaigns.start("c")

            async def all_there() -> bool:
                return len(provider.arrivals()) == len(people) + len(others)

            await until(all_there)
            first = Counter(one.number[:5] for one in provider.arrivals()[:40])
            assert min(first["+1600"], first["+1700"]) > 5  # each has its share

    within(story())
    assert provider.taken() == Counter(people + others)
    assert busiest(provider.arrivals()) <= 20


@pytest.mark.parametrize("what", ["queue", "lane"])
def test_a_campaign_waits_while_the_queue_or_lane_of_its_credential_is_paused(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, what: str
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await campaign(road, provider, tmp_path, numbers(5))
            lane = (await road.explain_queue("sms:main")).lanes[0].id
            pause = road.pause("sms:main") if what == "queue" else road.lanes.pause(lane)
            await pause
            await road.campaigns.start("c")
            await asyncio.sleep(1.0)
            assert not provider.arrivals()
            await (road.resume("sms:main") if what == "queue" else road.lanes.resume(lane))
            assert (await reaches(road, "done")).counts.sent == 5

    within(story())


def test_a_campaign_waits_while_a_throttled_single_message_holds_the_queue(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    throttled = numbers(1, "+1518")[0]

    async def story() -> None:
        async with running(local(dsn)) as road:
            await campaign(road, provider, tmp_path, numbers(5))
            receipt = await road.send(f"sms:{throttled}", HELLO, credential="main")

            async def held() -> bool:
                # A shipped rule holds all that is sent with the credential, not only this queue.
                return (await road.explain(receipt.id)).because.startswith("lane held")

            await until(held)
            await road.campaigns.start("c")
            await asyncio.sleep(1.0)
            assert {one.number for one in provider.arrivals()} == {throttled}
            await road.cancel(receipt.id)
            (lane,) = (await road.explain_queue("sms:main")).lanes
            await road.lanes.unblock(lane.id)
            assert (await reaches(road, "done")).counts.sent == 5

    within(story())
