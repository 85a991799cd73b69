"""Queues that nobody used for long are deleted; those that somebody uses or has set up are not."""

from pathlib import Path

import pytest

from postroad.model.block import BlockKind
from postroad.model.circuit import Circuit
from postroad.model.decide import Move
from postroad.model.entities import Queue
from postroad.model.errors import QueueGone
from postroad.model.pace import read_limit
from postroad.model.record import Collected
from postroad.model.unused import DELETE_MOST, unused_for_ms
from postroad.model.webhook import HookRow
from postroad.ports.usage import CountedKind
from postroad.stores.sqlite.database import QUERIES
from postroad.stores.sqlite.writer import InlineDrive
from tests.contract.bench import Bench
from tests.contract.rigs import SqliteRig

DAY_S = 86_400
UNUSED_MS = 30 * DAY_S * 1000


async def collect(bench: Bench) -> int:
    """A whole walk; answers how many queues went."""
    gone = 0
    while (collected := await bench.store.collect(UNUSED_MS)).next_at_ms == 0:
        gone += collected.gone
    return gone + collected.gone


async def days(bench: Bench, count: int, *, send_to: Queue | None = None) -> int:
    """Days go by, with a walk on each, and perhaps a message delivered; answers what went."""
    gone = 0
    for _ in range(count):
        await bench.advance(DAY_S)
        if send_to is not None:
            await deliver(bench, send_to)
        gone += await collect(bench)
    return gone


async def deliver(bench: Bench, queue: Queue, **how: str) -> None:
    await bench.send(queue, order_key=how.get("order_key", ""))
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.deliver)
    await bench.release(lane)


async def names(bench: Bench) -> set[str]:
    return {name for (name,) in await bench.rows("select name from queue")}


async def left(bench: Bench) -> list[int]:
    """How many rows there are of what belongs to queues."""
    tables = ("queue", "queue_lane", "lane", "lane_level", "rung", "idempotency", "unused_queue")
    return [(await bench.rows(f"select count(*) from {table}"))[0][0] for table in tables]


async def test_one_that_nobody_used_for_long_is_deleted_with_its_lanes(bench: Bench) -> None:
    used = await bench.queue("used", tenant="a", shards=3)
    await bench.queue("never used", tenant="a")
    await deliver(bench, used)
    assert await days(bench, 30) == 0
    assert await bench.store.tenant_has(CountedKind.queues, "a", 10) == 2
    assert await bench.store.tenant_has(CountedKind.lanes, "a", 10) == 4
    assert await days(bench, 1) == 2
    for kept in (CountedKind.queues, CountedKind.lanes):
        assert await bench.store.tenant_has(kept, "a", 10) == 0
    assert await left(bench) == [0] * 7


@pytest.mark.parametrize("order_key", ["", "k"])
async def test_one_that_is_used_once_a_day_stays(bench: Bench, order_key: str) -> None:
    queue = await bench.queue("daily")
    await bench.queue("idle")
    for _ in range(40):
        await days(bench, 1)
        await deliver(bench, queue, order_key=order_key)
    assert await names(bench) == {"daily"}
    assert await days(bench, 30) == 0
    assert await days(bench, 1) == 1


async def test_without_the_look_of_its_rungs_one_in_use_would_be_deleted(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control, on SQLite (on PostgreSQL: test_collecting). Each walk comes when the day's
    message is delivered, and sees nothing."""
    bench = Bench(SqliteRig(memory, InlineDrive))
    async with bench:
        queue = await bench.queue("daily")
        assert await days(bench, 40, send_to=queue) == 0
        guard = " where look <> excluded.look"
        blind = QUERIES["unused_note"].replace(guard, " where false")
        assert blind != QUERIES["unused_note"]
        monkeypatch.setitem(QUERIES, "unused_note", blind)
        with pytest.raises(QueueGone):
            await days(bench, 40, send_to=queue)


async def test_one_that_holds_messages_stays_and_counts_from_when_it_is_empty(
    bench: Bench,
) -> None:
    queue = await bench.queue()
    await bench.send(queue, after_s=60 * DAY_S)
    assert await days(bench, 61) == 0
    lane = await bench.take()
    assert await days(bench, 5) == 0
    await bench.became(await bench.only(lane.id), Move.deliver)
    await bench.release(lane)
    assert await days(bench, 30) == 0
    assert await days(bench, 1) == 1


async def test_one_with_uncertain_or_held_messages_stays(bench: Bench) -> None:
    doubted = await bench.queue("doubted")
    await bench.send(doubted)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.doubt)
    await bench.release(lane)
    held = await bench.queue("held")
    await bench.send(held, order_key="k")
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.hold)
    await bench.release(lane)
    assert await days(bench, 40) == 0


async def test_one_that_dead_messages_name_stays_while_they_do(bench: Bench) -> None:
    queue = await bench.queue()
    number = await bench.send(queue)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.die)
    await bench.release(lane)
    assert await days(bench, 40) == 0
    assert await bench.dead() == {number: "rejected"}
    await bench.store.retain(7 * DAY_S * 1000, 10 * DAY_S * 1000)
    assert await days(bench, 32) == 1


async def test_one_for_which_somebody_set_something_stays(bench: Bench) -> None:
    queues = {n: await bench.queue(n) for n in ("paused", "limited", "hook", "lane", "lane limit")}
    await bench.store.pause_queue(queues["paused"].id, paused=True)
    limit = read_limit("10/min")
    await bench.store.limit_queue(queues["limited"].id, limit)
    await bench.store.write_hook(HookRow(queues["hook"].id, "default", b"{}", "", b""))
    await bench.store.pause_lane(queues["lane"].lanes[0], paused=True)
    await bench.store.limit_lane(queues["lane limit"].lanes[0], limit)
    assert await days(bench, 40) == 0
    await bench.store.pause_queue(queues["paused"].id, paused=False)
    await bench.store.limit_queue(queues["limited"].id, None)
    await bench.store.drop_hook(queues["hook"].id)
    await bench.store.pause_lane(queues["lane"].lanes[0], paused=False)
    await bench.store.limit_lane(queues["lane limit"].lanes[0], None)
    assert await days(bench, 32) == 5
    assert await left(bench) == [0] * 7


async def test_one_that_is_disabled_or_held_off_stays_and_a_past_hold_off_keeps_none(
    bench: Bench,
) -> None:
    queues = [await bench.queue(name) for name in ("gone", "later", "over", "open", "shut")]
    for queue in queues:
        await bench.send(queue)
    lanes = {lane.id: lane for lane in (await bench.claim()).lanes}
    gone, later, over, opened, shut = [lanes[queue.lanes[0]] for queue in queues]
    for lane in lanes.values():
        await bench.became(await bench.only(lane.id), Move.deliver)
    await bench.block(queues[0], gone, 10, BlockKind.disabled)
    await bench.block(queues[1], later, 100 * DAY_S)
    await bench.block(queues[2], over, 10)
    await bench.circuit(opened, Circuit(3, 1, bench.at(100 * DAY_S), bench.now_ms, "away"))
    await bench.circuit(shut, Circuit(3, 1, bench.at(10), bench.now_ms, "away"))
    for lane in lanes.values():
        await bench.release(lane)
    assert await days(bench, 40) == 2
    assert await names(bench) == {"gone", "later", "open"}


async def test_one_whose_lane_somebody_owns_stays_until_it_is_free(bench: Bench) -> None:
    await bench.queue("idle", server="one")
    busy = await bench.queue("busy", server="one")
    await days(bench, 25)
    await bench.send(busy)
    lane = await bench.take()
    assert await days(bench, 10) == 0
    await bench.became(await bench.only(lane.id), Move.deliver)
    await bench.release(lane)
    assert await days(bench, 1) == 1
    assert await names(bench) == {"busy"}
    assert len(await bench.rows("select id from lane")) == 1  # which serves another


async def test_a_draft_for_one_that_is_gone_is_refused_and_nothing_of_it_is_stored(
    bench: Bench,
) -> None:
    queue = await bench.queue()
    await deliver(bench, queue)
    await bench.queue("other")
    await days(bench, 32)
    with pytest.raises(QueueGone, match="do it again"):
        await bench.send(queue, key="k")
    with pytest.raises(QueueGone):
        await bench.store.pause_queue(queue.id, paused=True)
    with pytest.raises(QueueGone):
        await bench.store.limit_queue(queue.id, read_limit("10/min"))
    with pytest.raises(QueueGone):
        await bench.store.write_hook(HookRow(queue.id, "default", b"{}", "", b""))
    assert await bench.counts() == {"delivered": 1}
    assert await left(bench) == [0] * 7


async def test_numbers_of_those_that_are_gone_are_never_given_again(bench: Bench) -> None:
    old = await bench.queue()
    await deliver(bench, old)
    rungs = await bench.rows("select max(id) from rung")
    await days(bench, 32)
    new = await bench.queue()
    await bench.send(new)
    assert (new.id > old.id, new.lanes > old.lanes) == (True, True)
    assert await bench.rows("select max(id) from rung") > rungs
    lane = await bench.take()
    assert (await bench.only(lane.id)).queue == new.id


async def test_many_go_a_few_at_a_time(bench: Bench) -> None:
    for number in range(DELETE_MOST + 5):
        await bench.queue(f"q{number}", server="one")
    await collect(bench)
    await bench.advance(31 * DAY_S)
    assert await bench.store.collect(UNUSED_MS) == Collected(DELETE_MOST, 0)
    assert await bench.store.collect(UNUSED_MS) == Collected(5, bench.at(DAY_S))
    assert await bench.store.collect(UNUSED_MS) == Collected(0, bench.at(DAY_S / 4))
    assert await left(bench) == [0] * 7


def test_a_queue_stays_as_long_as_finished_work_may_speak_of_it() -> None:
    assert unused_for_ms(UNUSED_MS, 7 * DAY_S * 1000) == UNUSED_MS
    assert unused_for_ms(1, 7 * DAY_S * 1000) == 9 * DAY_S * 1000
