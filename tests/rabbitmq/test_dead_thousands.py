"""Ten thousand dead letters: collected, paged through, a hundred of them replayed, the rest left."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.model.ids import to_text
from postroad.model.states import DeadReason
from postroad.stores.rabbitmq.envelope import Envelope, pack
from postroad.stores.rabbitmq.wire.properties import Properties
from postroad.transports.handler import Job
from tests.rabbitmq.outside import until
from tests.rabbitmq.roads import a_road, running
from tests.rabbitmq.test_envelope import PLAIN
from tests.rabbitmq.wires import linked

COUNT, CHOSEN, PAGE = 10_000, 100, 500
SLICE = 1_000


def letter(number: int) -> Envelope:
    return replace(
        PLAIN, id=number, shard=number % 16, hop=7, level=2, attempts=3, died_at_ms=number,
        reason=DeadReason.exhausted, last_error=f"no {number}", body=b'{"n": %d}' % number,
    )  # fmt: skip


async def fill(dsn: str) -> None:
    """As workers do: published to the dead exchange, confirmed."""
    async with linked(dsn) as link:
        channel = await link.channel(confirms=True)
        for start in range(1, COUNT + 1, SLICE):
            confirms = [
                channel.publish(
                    "postroad.v1.dead.x",
                    "",
                    one.body,
                    Properties({**pack(one)}, message_id=to_text(one.id)),
                )
                for one in map(letter, range(start, start + SLICE))
            ]
            await asyncio.gather(*(confirm for confirm in confirms if confirm is not None))


@pytest.mark.wide
async def test_ten_thousand_are_paged_and_a_hundred_replayed(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)
    handled: list[int] = []

    @road.handler(PLAIN.queue, retries=0)
    async def resize(job: Job) -> None:
        handled.append(job.body["n"])

    async with road, running(road):
        await fill(dsn)

        async def all_collected() -> bool:
            # Not `counts`: what still lies in the broker's dead queue is counted there as well.
            return len(await all_pages(road)) == COUNT

        assert await until(all_collected, 90.0)
        seen = await all_pages(road)
        assert seen == [to_text(number) for number in range(COUNT, 0, -1)]
        chosen = list(range(7, COUNT, COUNT // CHOSEN))
        assert await road.dead.replay(ids=map(to_text, chosen), mode="reset") == CHOSEN

        async def all_handled() -> bool:
            return len(handled) >= CHOSEN

        assert await until(all_handled, 90.0)
        assert sorted(handled) == chosen
        left = await all_pages(road)
        assert left == [name for name in seen if name not in set(map(to_text, chosen))]


async def all_pages(road: Postroad) -> list[str]:
    """Every id, the latest death first."""
    names: list[str] = []
    after = ""
    while True:
        page = await road.dead.list(limit=PAGE, after=after)
        names += [message.id for message in page.messages]
        if not page.after:
            return names
        after = page.after
