"""Named limits: every store finds the same lanes for a pattern, and has one ledger for all of them."""

import random

from postroad.model.entities import Queue
from postroad.model.lane_patterns import matches
from postroad.model.named_limits import NamedLimit, NewLimit
from postroad.model.pace import AHEAD_US, Ask, make_limit, read_limit
from tests.contract.bench import Bench
from tests.contract.test_pace import ask, seen

NAMES = ("web:mx1.google.com", "web:mx2.google.com", "web:mx1.outlook.com")


async def put(
    bench: Bench, name: str, lanes: str, rate: str, *, tenant: str = "default", lasts_s: int = 0
) -> None:
    until_ms = bench.at(lasts_s) if lasts_s else 0
    await bench.store.put_limit(NewLimit(name, tenant, lanes, read_limit(rate), until_ms))


async def queues_of(bench: Bench) -> list[Queue]:
    return [await bench.queue(name, server=name.partition(":")[2]) for name in NAMES]


async def ledgers(bench: Bench, queue: Queue) -> tuple[int, ...]:
    return (await bench.find(queue)).ledgers


async def test_one_ledger_is_shared_by_all_lanes_that_the_pattern_means(bench: Bench) -> None:
    await put(bench, "gmail", "web:*.google.com", "50/s")
    first, second, other = await queues_of(bench)
    (ledger,) = await ledgers(bench, first)
    assert await ledgers(bench, second) == (ledger,)
    assert await ledgers(bench, other) == ()
    (grant,) = await ask(bench, Ask((ledger,), "lane 1", 100))
    (none,) = await ask(bench, Ask((ledger,), "lane 2", 100))
    assert (len(grant.at_us), none.at_us) == (12, ())
    await bench.reopen()
    assert await ledgers(bench, first) == (ledger,)


async def test_a_limit_is_for_the_lanes_of_its_tenant_or_of_every_tenant(bench: Bench) -> None:
    theirs = await bench.queue("theirs", server="mx1.google.com", tenant="other")
    mine = (await queues_of(bench))[0]
    await put(bench, "gmail", "web:*.google.com", "50/s", tenant="other")
    assert len(await ledgers(bench, theirs)) == 1
    assert await ledgers(bench, mine) == ()
    await put(bench, "gmail", "web:*.google.com", "20/s", tenant="*")
    assert len(await ledgers(bench, theirs)) == 2
    assert len(await ledgers(bench, mine)) == 1
    assert [one.tenant for one in await bench.store.named_limits(None)] == ["*", "other"]
    assert await bench.store.named_limits("default") == []


async def test_the_slowest_limit_of_a_lane_comes_first_and_the_queues_own_last(
    bench: Bench,
) -> None:
    queue = (await queues_of(bench))[0]
    await put(bench, "provider", "web:*.google.com", "50/s")
    await put(bench, "all", "web:*", "500/s")
    await bench.store.limit_lane(queue.lanes[0], read_limit("100/s"))
    await bench.store.limit_queue(queue.id, read_limit("1/s"))
    facts = await bench.store.queue_facts("default", queue.name)
    assert facts is not None
    assert [(p.name, p.limit, p.shared) for p in facts.paces] == [
        ("provider", "50/s", True),
        ("", "100/s", True),
        ("all", "500/s", True),
        ("", "1/s", False),
    ]
    found = await ledgers(bench, queue)
    assert len(found) == 4
    (grant,) = await ask(bench, Ask(found, "a", 5))
    assert len(grant.at_us) == 1


async def test_owners_hear_of_a_limit_that_begins_moves_and_ends(bench: Bench) -> None:
    first, _, other = await queues_of(bench)
    await bench.send(first)
    lane = await bench.take()
    heard = bench.listen()
    await put(bench, "gmail", "web:*.google.com", "50/s")
    await heard.until(lambda: (lane.id, 0, 0) in heard.lane)
    (ledger,) = (await seen(bench, lane, first)).ledgers
    assert await bench.store.ledgers(lane.key) == (ledger,)
    heard.forget()
    await put(bench, "gmail", "web:*.outlook.com", "50/s")
    await heard.until(lambda: (lane.id, 0, 0) in heard.lane)
    assert (await seen(bench, lane, first)).ledgers == ()
    assert await ledgers(bench, other) == (ledger,)
    assert await bench.store.drop_limit("default", "gmail")
    assert not await bench.store.drop_limit("default", "gmail")
    assert await ledgers(bench, other) == ()
    assert await bench.store.named_limits(None) == []
    (grant,) = await ask(bench, Ask((ledger,), "a", 3))
    assert len(grant.at_us) == 3  # one who does not know yet is not held up


async def test_a_limit_that_is_put_again_goes_on_where_it_was(bench: Bench) -> None:
    queue = (await queues_of(bench))[0]
    await put(bench, "gmail", "web:*", "1/min")
    (ledger,) = await ledgers(bench, queue)
    await ask(bench, Ask((ledger,), "a", 1))
    assert await bench.store.drop_limit("default", "gmail")
    await put(bench, "gmail", "web:*", "1/min")
    assert await ledgers(bench, queue) == (ledger,)
    (grant,) = await ask(bench, Ask((ledger,), "a", 1))
    assert grant.at_us == ()


async def test_a_limit_for_a_while_ends_by_itself(bench: Bench) -> None:
    queue = (await queues_of(bench))[0]
    await put(bench, "provider", "web:*", "50/s")
    await put(bench, "for a while", "web:*", "1/h", lasts_s=30)
    found, now_us = await ledgers(bench, queue), bench.now_ms * 1000
    (grant,) = await ask(bench, Ask(found, "a", 5))
    assert (len(grant.at_us), grant.again_us) == (1, now_us + 30_000_000)
    await bench.advance(29)
    (grant,) = await ask(bench, Ask(found, "a", 5))
    assert (grant.at_us, grant.again_us) == ((), now_us + 30_000_000)
    await bench.advance(1.001)
    (grant,) = await ask(bench, Ask(found, "a", 5))
    assert len(grant.at_us) == 5
    assert [one.name for one in await bench.store.named_limits(None)] == ["provider"]
    await bench.advance(300)
    await put(bench, "provider", "web:*", "50/s")
    rows = await bench.rows("select name from pace order by name")
    assert [tuple(row) for row in rows] == [("provider",)]


async def test_a_named_limit_is_listed_as_it_was_put(bench: Bench) -> None:
    limit = make_limit("100/s", 2, "09:00-20:00", "Asia/Singapore")
    assert limit is not None
    await bench.store.put_limit(NewLimit("sms", "default", "sms:*", limit, bench.at(5)))
    assert await bench.store.named_limits("default") == [
        NamedLimit(
            "sms", "default", "sms:*", "100/s", 2, "09:00-20:00", "Asia/Singapore", bench.at(5)
        )
    ]
    only = make_limit(None, 1, "20:00-08:00")
    assert only is not None
    await bench.store.put_limit(NewLimit("night", "default", "web:*", only))
    queue = (await queues_of(bench))[0]
    found = await bench.find(queue)
    assert (found.ledgers, found.hours) == ((), (only.hours,))
    facts = await bench.store.queue_facts("default", queue.name)
    assert facts is not None
    assert [(p.name, p.hours, p.zone) for p in facts.paces] == [("night", "20:00-08:00", "UTC")]


async def test_every_store_reads_patterns_alike(bench: Bench) -> None:
    rng = random.Random(1)
    letters = ("a", "b", ".", "*", "?", "%", "_", "[", "]", "\\", "^")
    servers = ["ab.a", "a%b", "a_b", "[ab]", "a\\b", "^a", "aaab", "b.b.b", "b"]
    queues = {server: await bench.queue(server) for server in servers}
    drawn = ["".join(rng.choice(letters) for _ in range(rng.randint(1, 5))) for _ in range(25)]
    for tail in ("*.b", "*.ab.a", *drawn):
        pattern = f"web:{tail}"
        await put(bench, "odd", pattern, "50/s")
        for server, queue in queues.items():
            meant = bool(await ledgers(bench, queue))
            assert meant == matches(pattern, f"web:{server}"), (pattern, server)


def test_a_pattern_of_names_below_one_means_that_one_too() -> None:
    assert matches("smtp:*.google.com", "smtp:google.com")
    assert matches("smtp:*.google.com", "smtp:mx1.google.com")
    assert matches("webhook:https://*.example.com", "webhook:https://example.com")
    assert not matches("smtp:*.google.com", "smtp:notgoogle.com")
    assert not matches("smtp:*.google.com", "sms:google.com")


async def test_waiting_for_two_limits_leaves_the_shared_slots_to_others(bench: Bench) -> None:
    slow, quick, _ = await queues_of(bench)
    await put(bench, "provider", "web:*", "50/s")
    await bench.store.limit_queue(slow.id, read_limit("1/s"))
    both, shared = await ledgers(bench, slow), await ledgers(bench, quick)
    assert both[0] == shared[0]
    (one,) = await ask(bench, Ask(both, "slow", 5))
    (waits,) = await ask(bench, Ask(both, "slow", 5))
    (many,) = await ask(bench, Ask(shared, "quick", 5))
    assert (len(one.at_us), waits.at_us, len(many.at_us)) == (1, (), 5)
    assert waits.again_us > one.at_us[0] + 1_000_000 - AHEAD_US - 100_000
