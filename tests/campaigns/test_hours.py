"""Allowed hours go by each recipient's zone: campaigns wait for them, and hold nobody else."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.campaigns.reading import BadFile
from postroad.model.errors import BadInput
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import local, numbers, reaches, running, until

Within = Callable[[Any], Any]
FAR = "Etc/GMT-12"
"""Twelve hours from UTC: three hours around now there are outside."""


def around_now() -> str:
    hour = datetime.now(UTC).hour
    return f"{(hour - 1) % 24:02}:00-{(hour + 2) % 24:02}:00"


async def zoned(
    road: Postroad, provider: Provider, folder: Path, zones: list[str], **spec: Any
) -> None:
    await road.credentials.put("main", provider.spec(**spec), TOKEN)
    await road.campaigns.create("c", credential="main", template="Hi", zone="UTC")
    people = zip(numbers(len(zones)), zones, strict=True)
    lines = ["recipient,zone", *(f"{number},{zone}" for number, zone in people)]
    (folder / "p.csv").write_text("\n".join(lines) + "\n")
    await road.campaigns.import_file("c", folder / "p.csv")


def test_who_is_outside_its_hours_waits_and_the_others_are_sent_to(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await road.limits.put("day", lanes="sms:*", hours=around_now(), zone=FAR)
            await zoned(road, provider, tmp_path, [FAR, "UTC", "", FAR, "Europe/London"] * 4)
            await road.campaigns.start("c")

            async def waits() -> bool:
                return (await road.campaigns.show("c")).reason.startswith("8 recipients wait for")

            await until(waits)
            shown = await road.campaigns.show("c")
            assert (shown.counts.sent, shown.counts.unsent) == (12, 8)
            store = road.campaign_service.store
            reads, queued = 0, store.queued

            async def counted(*args: Any) -> Any:
                nonlocal reads
                reads += 1
                return await queued(*args)

            vars(store)["queued"] = counted
            await asyncio.sleep(1.5)
            assert reads == 0  # nobody reads them again and again
            await road.limits.delete("day")
            done = await reaches(road, "done")
            assert (done.counts.sent, done.reason) == (20, "")

    within(story())
    assert len(provider.arrivals()) == 20


def test_hours_that_are_put_while_it_runs_hold_at_once(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await zoned(road, provider, tmp_path, [FAR] * 400, rate="40/s")
            await road.campaigns.start("c")

            async def begun() -> bool:
                return len(provider.arrivals()) > 5

            await until(begun)
            await road.limits.put("day", lanes="sms:*", hours=around_now())

            async def waits() -> bool:
                return "allowed hours" in (await road.campaigns.show("c")).reason

            await until(waits)
            sent = len(provider.arrivals())
            assert sent < 400
            await road.campaigns.stop("c")
            await road.limits.delete("day")
            await road.credentials.put("main", provider.spec(), TOKEN)  # as fast as it can
            await road.campaigns.resume("c")
            assert (await reaches(road, "done")).counts.sent == 400

    within(story())
    assert len(provider.arrivals()) == 400


def test_a_zone_that_does_not_exist_is_refused_with_its_line(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            with pytest.raises(
                BadFile, match=r"line 3: column 'zone': 'Europe/Atlantis' is not a time zone"
            ):
                await zoned(road, provider, tmp_path, ["UTC", "Europe/Atlantis", ""])
            assert (await road.campaigns.show("c")).counts.total == 0
            with pytest.raises(BadInput, match="is not a time zone"):
                await road.campaigns.edit("c", zone="Mars")
            with pytest.raises(BadInput, match="is not a time zone"):
                await road.send("sms:+6591234567", {"text": "x"}, credential="main", zone="Mars")

    within(story())


def test_a_single_message_goes_by_its_recipients_zone(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await zoned(road, provider, tmp_path, ["UTC"])
            await road.limits.put("day", lanes="sms:*", hours=around_now(), zone=FAR)
            text = {"text": "Hi"}
            to = "sms:+6591234567"
            here = await road.send(to, text, credential="main", zone="UTC")
            there = await road.send(to, text, credential="main")

            async def there_already() -> bool:
                return (await road.explain(here.id)).state == "delivered"

            await until(there_already)

            async def waits() -> bool:
                return "outside the allowed hours" in str(await road.explain(there.id))

            await until(waits)

    within(story())
