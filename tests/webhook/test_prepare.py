"""Under a limit, what a try would have to wait for comes before its slot."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from postroad import Postroad
from postroad.config import Settings
from postroad.model.outcome import Kind
from postroad.model.webhook import Attempt
from postroad.verbs.parts import Parts
from tests.webhook.conftest import LOCAL, Receiver

Within = Callable[[Coroutine[Any, Any, Any]], Any]
RULES = replace(LOCAL, connect_timeout_ms=300)


async def delivered(road: Postroad, url: str) -> list[Attempt]:
    """Send one under a limit, and run until its first try is in the log."""
    async with road:
        await road.webhooks.set(url)
        await road.limit(url, "50/s")
        receipt = await road.send(url, {})
        running = asyncio.create_task(road.run())
        while not (tries := await road.webhooks.attempts(receipt.id)):
            await asyncio.sleep(0.01)
        road.stop()
        await running
    return tries


def test_a_server_that_takes_no_connection_has_its_outcome(
    faults: dict[str, int], tmp_path: Path, within: Within
) -> None:
    """Connecting takes longer than a slot may be late: forfeited each time, it would never be tried."""
    road = Postroad(f"sqlite:///{tmp_path}/road.db", settings=Settings(webhooks=RULES))
    first = within(delivered(road, f"http://127.0.0.1:{faults['full_backlog']}/"))[0]
    assert (first.outcome, first.fault) == (Kind.unreachable, "connect_timeout")


def test_a_slow_name_server_does_not_make_a_start_late(
    receiver: Receiver, tmp_path: Path, within: Within
) -> None:
    """Its answer takes much longer than a slot may be late: that slot is forfeited, not used late."""

    async def resolve(_name: str) -> list[str]:
        await asyncio.sleep(4.0)
        return ["127.0.0.1"]

    url = receiver.url("/status/200").replace("127.0.0.1", "hook.example")
    road = Postroad(
        f"sqlite:///{tmp_path}/road.db",
        settings=Settings(webhooks=LOCAL),
        parts=Parts(resolve=resolve),
    )
    (first,) = within(delivered(road, url))
    assert first.outcome == Kind.delivered
    assert first.took_ms < 4_000, "the name was asked for before the start"
