"""Lanes are claimed tenant by tenant in turn where more are ready than a claim takes."""

from collections import Counter

from postroad.model.entities import LaneKey, QueueSpec
from tests.contract.bench import PLAIN, POOL, Bench


async def ready(bench: Bench, tenant: str, lanes: int, after_s: float = 0) -> None:
    """Lanes of a tenant with one message each."""
    specs = [
        QueueSpec(tenant, f"{tenant}{n}", LaneKey(POOL, f"{tenant}{n}", tenant=tenant), 1, PLAIN)
        for n in range(lanes)
    ]
    queues = await bench.store.open_queues(specs)
    await bench.store.accept([bench.draft(queue, after_s=after_s) for queue in queues])


async def claimed(bench: Bench, limit: int, *without: str) -> Counter[str]:
    """How many lanes of each tenant claims bring until an answer is not full."""
    found: Counter[str] = Counter()
    for _ in range(100):
        claim = await bench.claim(limit=limit, without=without)
        found.update(lane.key.tenant for lane in claim.lanes)
        if not claim.full:
            return found
    raise AssertionError("claims come back full for ever")


async def test_a_tenant_with_one_lane_is_among_the_first_beside_one_with_many(bench: Bench) -> None:
    await ready(bench, "many", 40)
    await bench.advance(1)
    await ready(bench, "one", 1)
    claim = await bench.claim(limit=8)
    assert Counter(lane.key.tenant for lane in claim.lanes) == {"many": 7, "one": 1}
    assert await claimed(bench, 8) == {"many": 33}


async def test_lanes_of_a_tenant_that_is_left_out_stay_ready(bench: Bench) -> None:
    await ready(bench, "crowd", 20)
    await bench.advance(1)
    await ready(bench, "other", 3)
    assert await claimed(bench, 8, "crowd") == {"other": 3}
    claim = await bench.claim(limit=8, without=["crowd"])
    assert (claim.lanes, claim.full) == ([], False)
    await ready(bench, "new", 1)
    assert await claimed(bench, 100, "crowd") == {"new": 1}
    assert await claimed(bench, 100) == {"crowd": 20}


async def test_a_claim_that_leaves_a_tenant_out_says_when_the_next_lane_is_ready(
    bench: Bench,
) -> None:
    await ready(bench, "crowd", 20)
    await ready(bench, "later", 1, after_s=60)
    claim = await bench.claim(limit=8, without=["crowd"])
    assert (claim.lanes, claim.next_at_ms[0]) == ([], bench.at(60))


async def test_hundreds_of_tenants_are_all_found(bench: Bench) -> None:
    tenants = [f"t{n:03}" for n in range(300)]
    specs = [QueueSpec(t, t, LaneKey(POOL, t, tenant=t), 1, PLAIN) for t in tenants]
    queues = await bench.store.open_queues(specs)
    await bench.store.accept([bench.draft(queue) for queue in queues])
    await ready(bench, "crowd", 40)
    assert await claimed(bench, 32, "crowd") == dict.fromkeys(tenants, 1)
    assert await claimed(bench, 32) == {"crowd": 40}


async def test_what_gets_ready_behind_a_claim_in_several_parts_is_asked_for_soon(
    bench: Bench,
) -> None:
    """The rest of the tenants is all that the last part looks at, and rings are forgotten when it
    asks: a lane of an earlier tenant that came meanwhile waited for the safety poll."""
    tenants = [f"t{n:03}" for n in range(300)]
    specs = [QueueSpec(t, t, LaneKey(POOL, t, tenant=t), 1, PLAIN) for t in tenants]
    queues = await bench.store.open_queues(specs)
    await bench.store.accept([bench.draft(queue, after_s=3_600) for queue in queues])
    await ready(bench, "crowd", 40)
    first = await bench.claim(limit=32, without=["crowd"])
    await ready(bench, "early", 1)
    last = await bench.claim(limit=32, without=["crowd"])
    assert (first.lanes, last.full) == ([], False)
    assert last.lanes or last.next_at_ms[0] <= bench.at(1)
    found = Counter(lane.key.tenant for lane in last.lanes) + await claimed(bench, 32, "crowd")
    assert found == {"early": 1}
