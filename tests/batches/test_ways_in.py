"""Batches from elsewhere: over HTTP and a local socket, and without `await`."""

from pathlib import Path

import pytest

from postroad import Batch, Message, Send, chain, sync
from postroad.errors import CyclicBatch, UnknownBatch, UnknownQueue
from tests.remote.test_verbs import roads


@pytest.mark.parametrize("how", ["http", "window"])
async def test_a_remote_road_sends_batches(tmp_path: Path, how: str) -> None:
    async with roads(tmp_path, how) as (near, far, _):
        got: list[str] = []

        @near.handler("work")
        async def work(message: Message) -> None:
            got.append(str(message.body))

        inner = Batch([Send("work", "b")], then=("work", "c"))
        steps = chain([("work", "d"), ("work", "e")])
        receipt = await far.batch(
            [("work", "a"), inner, steps], then=Send("work", "last", delay=0.01)
        )
        assert (receipt.total, len(receipt.messages)) == (3, 3)
        ring = await far.chain([("work", "1"), ("work", "2")])
        while len(got) < 8:
            await near.run(until_idle=True)
        assert got.index("c") > got.index("b")
        assert got.index("last") > max(map(got.index, "acde"))
        assert got.index("2") > got.index("1")
        status = await far.batches.get(receipt.id)
        assert (status.state, status.delivered, status.sent) == ("ended", 3, "then")
        assert {one.id for one in (await far.batches.list()).batches} >= {receipt.id, ring.id}
        with pytest.raises(UnknownQueue):
            await far.batch([("nobody", 1)])
        with pytest.raises(UnknownBatch):
            await far.batches.get("bat_0000000000000")
        cycle: list[Batch] = []
        cycle.append(Batch(cycle))
        with pytest.raises(CyclicBatch):
            await far.batch(cycle)


def test_a_batch_without_await(tmp_path: Path) -> None:
    got: list[object] = []
    with sync.Postroad(f"sqlite:///{tmp_path}/road.db") as road:

        @road.handler("work")
        def work(message: Message) -> None:
            got.append(message.body)

        receipt = road.batch([("work", 1), ("work", 2)], then=("work", 3))
        road.run(until_idle=True)
        assert sorted(map(str, got)) == ["1", "2", "3"]
        assert road.batches.get(receipt.id).delivered == 2
        assert road.chain([("work", 4)]).total == 1
