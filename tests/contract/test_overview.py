"""What the store tells about the whole road, and how it keeps access tokens."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from postroad.model.block import Block, BlockKind, disabled
from postroad.model.circuit import Circuit
from postroad.model.entities import Lane, Queue
from postroad.model.overview import MessageCount, PageOf
from postroad.model.portal import PortalLink, PortalRight
from postroad.model.record import QueueChange
from postroad.model.states import DeadReason, State
from postroad.model.tokens import Scope, Token, TokenKind
from postroad.stores.postgres import overview as postgres_overview
from postroad.stores.sqlite import overview as sqlite_overview
from tests.contract.bench import Bench
from tests.contract.holding import all_held


async def test_queues_and_lanes_come_in_pages_with_what_waits_in_them(bench: Bench) -> None:
    first, second = await bench.queue("a", server="s"), await bench.queue("b", server="s")
    for _ in range(3):
        await bench.send(first)
    await bench.send(second, after_s=60)
    await bench.store.pause_queue(second.id, paused=True)
    page = await bench.store.queue_page("default", "", 10)
    assert [(row.queue, row.waiting, row.held, row.paused) for row in page] == [
        ("a", 3, 0, False),
        ("b", 0, 1, True),
    ]
    assert page[0].oldest_due_ms == bench.now_ms
    assert (page[0].block, page[0].block_until_ms) == ("", None)
    assert [row.queue for row in await bench.store.queue_page("default", "", 1)] == ["a"]
    assert [row.queue for row in await bench.store.queue_page("default", "a", 1)] == ["b"]
    assert await bench.store.queue_page("other", "", 10) == []
    (lane,) = await bench.store.lane_page("default", 0, 10)
    assert (lane.id, lane.queues, lane.waiting, lane.held) == (first.lanes[0], 2, 3, 1)
    assert lane.owner is None
    await bench.take()
    (owned,) = await bench.store.lane_page("default", 0, 10)
    assert owned.owner is not None
    assert await bench.store.lane_page("default", lane.id, 10) == []
    assert await bench.store.lane_page("other", 0, 10) == []


async def test_the_overview_counts_by_level_and_state(bench: Bench) -> None:
    queue = await bench.queue("a")
    await bench.send(queue)
    await bench.send(queue, after_s=60)
    said = await bench.store.overview("default")
    transport = said.counts[0].transport
    assert said.counts == (MessageCount(transport, 0, State.waiting, 2, bench.now_ms),)
    assert (said.dead, said.paused_queues, said.open_circuits, said.blocked_queues) == ({}, 0, 0, 0)
    await bench.store.pause_queue(queue.id, paused=True)
    held = await bench.store.overview(None)
    assert [(each.state, each.count) for each in held.counts] == [(State.held, 2)]
    assert held.paused_queues == 1
    assert (await bench.store.overview("other")).counts == ()


async def test_a_brief_overview_counts_up_to_a_number(bench: Bench) -> None:
    queue = await bench.queue("a")
    for _ in range(5):
        await bench.send(queue)
    whole = await bench.store.overview("default")
    assert await bench.store.brief_overview("default", 10) == whole
    few = await bench.store.brief_overview("default", 3)
    assert [each.count for each in few.counts] == [3]
    assert few.counts[0].oldest_due_ms == whole.counts[0].oldest_due_ms
    assert few.whole
    assert (await bench.store.brief_overview("other", 10)).counts == ()
    (row,) = await bench.store.queue_page("default", "", 10, PageOf(most=3))
    assert (row.waiting, row.oldest_due_ms) == (3, bench.now_ms)
    (lane,) = await bench.store.lane_page("default", 0, 10, PageOf(most=3))
    assert lane.waiting == 3
    told = await bench.store.queue_facts("default", "a", 3)
    assert told
    assert [tally.count for tally in told.tallies] == [3]


async def test_what_is_in_trouble_is_found_behind_any_number_of_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in (sqlite_overview, postgres_overview):
        monkeypatch.setattr(store, "LOOKED_AT", 2)
    for name in "abcde":
        await bench.send(await bench.queue(name, server=name))
    queue = await bench.queue("z", server="z")
    await bench.send(queue)
    await bench.store.pause_queue(queue.id, paused=True)
    paused = await bench.queue("y", server="y")
    await bench.store.pause_lane(paused.lanes[0], paused=True)
    said = await bench.store.brief_overview("default", 100)
    held = sum(each.count for each in said.counts if each.state is State.held)
    assert (said.paused_queues, held) == (1, 1)
    trouble = PageOf(trouble=True)
    found = await bench.store.queue_page("default", "", 10, trouble)
    assert [(row.queue, row.held) for row in found] == [("z", 1)]
    assert await bench.store.queue_page("default", "z", 10, trouble) == []
    assert await bench.store.queue_page("other", "", 10, trouble) == []
    lanes = await bench.store.lane_page("default", 0, 10, trouble)
    assert [row.id for row in lanes] == [paused.lanes[0]]


async def pause(bench: Bench, queue: Queue, lane: Lane) -> str:
    assert lane.id
    await bench.store.pause_queue(queue.id, paused=True)
    return "paused"


async def pause_lane(bench: Bench, queue: Queue, lane: Lane) -> str:
    assert queue.id
    await bench.store.pause_lane(lane.id, paused=True)
    return "lane paused"


async def disable(bench: Bench, queue: Queue, lane: Lane) -> str:
    block = disabled("410 Gone", bench.now_ms)
    await bench.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, block)])
    return "disabled: 410 Gone"


async def fill(bench: Bench, queue: Queue, lane: Lane) -> str:
    block = Block(BlockKind.quota, bench.at(270), "429 from shop", 1, bench.now_ms)
    await bench.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, block)])
    return "quota: 429 from shop"


async def lose(bench: Bench, queue: Queue, lane: Lane) -> str:
    block = Block(BlockKind.unreachable, bench.at(30), "refused", 1, bench.now_ms)
    await bench.record(queues=[QueueChange(queue.id, lane.id, lane.epoch, block)])
    return "unreachable: refused"


async def open_circuit(bench: Bench, queue: Queue, lane: Lane) -> str:
    assert queue.id
    # Its time has passed: a probe decides, and until then all of the lane is held.
    await bench.circuit(lane, Circuit(3, 1, bench.at(-1), bench.at(-9), "connection refused"))
    return "circuit open: connection refused"


@pytest.mark.parametrize(
    "hold", [pause, pause_lane, disable, fill, lose, open_circuit], ids=lambda hold: hold.__name__
)
async def test_what_is_held_is_counted_alike_everywhere_and_says_why(
    bench: Bench, hold: Callable[[Bench, Queue, Lane], Awaitable[str]]
) -> None:
    queue = await bench.queue("a")
    first, _ = await bench.send(queue), await bench.send(queue)
    lane = await bench.take()
    because = await hold(bench, queue, lane)
    await all_held(bench, queue, lane, [first], because)
    (row,) = await bench.store.queue_page("default", "", 10)
    ends_ms = {"quota": bench.at(270), "unreachable": bench.at(30)}
    assert row.block_until_ms == ends_ms.get(row.block)  # of a disabled queue nobody knows it


async def test_the_overview_counts_the_dead_by_reason(bench: Bench) -> None:
    queue = await bench.queue("a")
    await bench.send(queue, ttl_s=1)
    await bench.advance(2)
    await bench.store.sweep(10)
    assert (await bench.store.overview("default")).dead == {DeadReason.expired: 1}
    assert (await bench.store.overview("other")).dead == {}


async def test_a_brief_overview_counts_a_tenants_dead_beside_a_neighbour_with_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant, name, count in (("quiet", "a", 2), ("quiet", "b", 1), ("busy", "a", 9)):
        queue = await bench.queue(name, tenant=tenant)
        for _ in range(count):
            await bench.send(queue, ttl_s=1)
        await bench.advance(2)
        await bench.store.sweep(10)
    found = await bench.store.brief_overview("quiet", 5)
    assert (found.dead, found.whole) == ({DeadReason.expired: 3}, True)
    assert (await bench.store.brief_overview("busy", 5)).dead == {DeadReason.expired: 5}
    assert (await bench.store.brief_overview("nobody", 5)).dead == {}
    for store in (
        sqlite_overview,
        postgres_overview,
    ):  # of more queues than are looked at, not all are counted
        monkeypatch.setattr(store, "LOOKED_AT", 1)
    found = await bench.store.brief_overview("quiet", 5)
    assert (found.dead, found.whole) == ({DeadReason.expired: 2}, False)


async def test_a_token_is_kept_found_and_dropped_by_its_own_tenant(bench: Bench) -> None:
    store = bench.store
    token = Token("abcd1234", "a", "name", (Scope.send, Scope.read), bench.now_ms)
    ending = Token("abcd1235", "b", "other", (Scope.admin,), bench.now_ms + 1, bench.at(60))
    await store.token_add(token, b"x" * 32)
    await store.token_add(ending, b"y" * 32)
    assert await store.token_find("abcd1234") == (token, b"x" * 32)
    assert await store.token_find("nothing") is None
    assert await store.token_page(None) == [token, ending]
    assert await store.token_page("b") == [ending]
    assert not await store.token_drop("b", "abcd1234", TokenKind.program)
    assert not await store.token_drop("a", "abcd1234", TokenKind.session)
    assert await store.token_drop("a", "abcd1234", TokenKind.program)
    assert not await store.token_drop(None, "abcd1234", TokenKind.program)
    assert await store.token_page(None) == [ending]


async def test_a_portal_link_keeps_its_terms_and_is_exchanged_once(bench: Bench) -> None:
    store = bench.store
    link = PortalLink(
        *("abcd1236", "a", "portal", (Scope.read,), bench.now_ms, bench.at(60)),
        kind=TokenKind.portal_link,
        allow=(PortalRight.secrets,),
        origins=("https://app.example.com",),
        title="Shop",
    )
    await store.token_add(link, b"x" * 32)
    assert await store.token_find(link.id) == (link, b"x" * 32)
    exchange = store.token_exchange
    assert not await exchange(link.id, b"z" * 32, b"y" * 32, TokenKind.portal)
    assert await exchange(link.id, b"x" * 32, b"y" * 32, TokenKind.portal)
    assert not await exchange(link.id, b"x" * 32, b"w" * 32, TokenKind.portal)
    opened = replace(link, kind=TokenKind.portal)
    assert await store.token_find(link.id) == (opened, b"y" * 32)
    assert await store.token_page("a", TokenKind.portal) == [opened]
    await store.token_sweep(bench.at(61))
    assert await store.token_find(link.id) is None
