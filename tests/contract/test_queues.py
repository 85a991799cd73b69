"""Queues: made on first use, with their lanes."""

from postroad.model.entities import HANDLER_SHARDS, LaneKey, Policy, QueueSpec
from postroad.model.ladder import Exponential, with_retries
from tests.contract.bench import Bench


async def test_opening_a_queue_twice_gives_the_same_one(bench: Bench) -> None:
    assert await bench.queue() == await bench.queue()


async def test_queues_are_answered_in_the_order_asked(bench: Bench) -> None:
    lane = LaneKey("web", "host")
    names = ["c", "a", "b", "a"]
    specs = [QueueSpec("default", name, lane, 1, Policy()) for name in names]
    queues = await bench.store.open_queues(specs)
    assert [queue.name for queue in queues] == names
    assert queues[1] == queues[3]


async def test_a_policy_that_differs_is_written_over_the_old_one(bench: Bench) -> None:
    await bench.queue()
    ladder = with_retries(Exponential(retries=9, base_ms=250), 3)
    policy = Policy(ladder=ladder, at_most_once=True, timeout_ms=5, quota_ttl_ms=7)
    changed = await bench.queue(policy=policy)
    assert changed.policy == policy
    assert (await bench.find(changed)).policy == policy


async def test_a_new_policy_keeps_the_queues_block(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    block = await bench.block(queue, await bench.take(), 180)
    assert (await bench.queue(policy=Policy(timeout_ms=1))).block == block


async def test_a_queue_that_nobody_opened_is_not_found(bench: Bench) -> None:
    queue = await bench.queue("shop", tenant="acme")
    assert await bench.store.find_queue("acme", "shop") == queue
    assert await bench.store.find_queue("default", "shop") is None
    assert await bench.store.find_queue("acme", "bank") is None


async def test_a_handler_has_sixteen_lanes_of_its_own(bench: Bench) -> None:
    queue = await bench.queue("resize", transport="handler", shards=HANDLER_SHARDS)
    assert len(set(queue.lanes)) == 16
    for shard in range(HANDLER_SHARDS):
        await bench.send(queue, shard=shard)
    claim = await bench.claim(pools=["handler:resize"])
    assert {lane.id for lane in claim.lanes} == set(queue.lanes)
    assert {lane.key.shard for lane in claim.lanes} == set(range(16))


async def test_queues_of_one_server_share_its_lane(bench: Bench) -> None:
    one = await bench.queue("a", server="host")
    two = await bench.queue("b", server="host")
    elsewhere = await bench.queue("c", server="other")
    assert one.lanes == two.lanes != elsewhere.lanes
    await bench.send(one)
    await bench.send(two)
    lane = await bench.take()
    assert (lane.key.server, lane.id) == ("host", one.lanes[0])
    assert {m.queue for m in await bench.due(lane.id)} == {one.id, two.id}


async def test_a_lane_is_told_apart_by_credential_and_tenant(bench: Bench) -> None:
    keys = [
        LaneKey("web", "host"),
        LaneKey("web", "host", credential="token"),
        LaneKey("web", "host", tenant="acme"),
        LaneKey("sms", "host"),
    ]
    specs = [QueueSpec("default", f"q{n}", key, 1, Policy()) for n, key in enumerate(keys)]
    queues = await bench.store.open_queues(specs)
    assert len({queue.lanes for queue in queues}) == len(keys)
