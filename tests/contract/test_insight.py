"""What the store tells about one message, one queue, one lane."""

from msgspec.structs import replace

from postroad.model.circuit import Circuit
from postroad.model.decide import Move
from postroad.model.explain import explain
from postroad.model.facts import Live, MessageFacts
from postroad.model.outcome import Kind
from postroad.model.states import NEVER, DeadReason, State
from postroad.model.try_details import TryDetails
from tests.contract.bench import Bench


async def facts_of(bench: Bench, number: int) -> MessageFacts:
    facts = await bench.store.message_facts("default", number)
    assert facts is not None
    return facts


async def live_of(bench: Bench, number: int) -> Live:
    live = (await facts_of(bench, number)).live
    assert live is not None
    return live


async def test_a_waiting_message_tells_when_it_is_due_and_who_owns_its_lane(bench: Bench) -> None:
    queue = await bench.queue()
    sent = await bench.send(queue, after_s=60, ttl_s=90)
    facts = await facts_of(bench, sent)
    assert (facts.id, facts.queue, facts.accepted_at_ms) == (sent, queue, bench.now_ms)
    assert facts.live == Live(
        0, 0, bench.at(60), bench.at(90), uncertain=False, held="", before=0, others_due=0
    )
    assert facts.lane is not None
    assert (facts.lane.server, facts.lane.owner, facts.lane.paused_at_ms) == ("shop", None, 0)
    await bench.send(queue)
    lane = await bench.take()
    owned = (await facts_of(bench, sent)).lane
    assert owned is not None
    assert owned.id == lane.id
    assert owned.owner is not None
    assert (owned.owner.process, owned.owner.heard_at_ms) == (bench.owner, bench.now_ms)
    assert owned.owner.pid > 0
    assert owned.owner.host


async def test_a_delivered_webhook_tells_the_status_that_was_seen(bench: Bench) -> None:
    sent = await bench.send(await bench.queue())
    lane = await bench.take()
    result = bench.result(await bench.only(lane.id), Move.deliver)
    seen = replace(result, status=202, details=TryDetails("127.0.0.1:80", answered_ms=3))
    await bench.record([seen])
    (only,) = (await facts_of(bench, sent)).tries
    assert (only.outcome, only.status) == (Kind.delivered, 202)
    assert "with status 202" in explain(await facts_of(bench, sent), bench.now_ms).sentence


async def test_tries_are_told_in_order_with_the_one_that_delivered(bench: Bench) -> None:
    sent = await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.climb, error="no")
    await bench.advance(60)
    await bench.became(await bench.only(lane.id), Move.deliver)
    facts = await facts_of(bench, sent)
    first, last = facts.tries
    assert (first.number, first.outcome, first.error) == (1, Kind.failed, "no")
    assert (last.number, last.outcome, last.level) == (2, Kind.delivered, 1)
    assert last.started_at_ms + last.took_ms == bench.now_ms
    assert (facts.live, facts.lane) == (None, None)
    assert facts.ended is not None
    assert (facts.ended.state, facts.ended.attempts, facts.ended.late) == (
        State.delivered,
        2,
        False,
    )


async def test_the_dead_the_cancelled_and_the_uncertain_are_told_apart(bench: Bench) -> None:
    queue = await bench.queue()
    sent = [await bench.send(queue) for _ in range(2)]
    waiting = await bench.send(queue, after_s=60)
    await bench.store.cancel("default", [waiting])
    lane = await bench.take()
    dies, doubts = await bench.due(lane.id)
    assert {dies.id, doubts.id} == set(sent)
    await bench.became(dies, Move.die)
    await bench.became(doubts, Move.doubt)
    dead, cancelled = (await facts_of(bench, dies.id)).ended, await facts_of(bench, waiting)
    assert dead is not None
    assert (dead.state, dead.reason, dead.at_ms) == (
        State.dead,
        DeadReason.rejected,
        bench.now_ms,
    )
    assert cancelled.ended is not None
    assert (cancelled.ended.state, cancelled.tries) == (State.cancelled, ())
    assert (await live_of(bench, doubts.id)).uncertain


async def test_of_an_order_group_the_one_before_is_told_and_who_holds_it(bench: Bench) -> None:
    queue = await bench.queue()
    first, second, third = [await bench.send(queue, order_key="k") for _ in range(3)]
    assert [(await live_of(bench, n)).before for n in (first, second, third)] == [0, first, second]
    lane = await bench.take()
    head, *_ = await bench.due(lane.id)
    await bench.became(head, Move.hold, error="it said no")
    assert "it said no" in (await live_of(bench, first)).held
    assert "it said no" in (await live_of(bench, third)).held


async def test_others_are_counted_that_can_go_by_then(bench: Bench) -> None:
    queue, other = await bench.queue("a", server="host"), await bench.queue("b", server="host")
    far = await bench.queue("c")
    sent = await bench.send(queue, after_s=60)
    await bench.send(queue, after_s=61)
    await bench.send(far)
    assert (await live_of(bench, sent)).others_due == 0
    await bench.send(other, after_s=60)
    for _ in range(2):
        await bench.send(other, order_key="k")
    assert (await live_of(bench, sent)).others_due == 2  # of an order group, its head
    slotted = await bench.send(queue, order_key="k", after_s=0)
    await bench.send(queue, order_key="k")
    assert (await live_of(bench, slotted)).others_due == 1  # of its own order group, nobody


async def test_a_blocked_queue_is_not_in_the_way(bench: Bench) -> None:
    queue, other = await bench.queue("a", server="host"), await bench.queue("b", server="host")
    sent = await bench.send(queue, after_s=60)
    await bench.send(other)
    lane = await bench.take()
    block = await bench.block(other, lane, 61)
    assert (await live_of(bench, sent)).others_due == 0
    facts = await facts_of(bench, sent)
    assert facts.queue.block is None
    told = await bench.store.queue_facts("default", "b")
    assert told is not None
    assert told.queue.block == block
    assert [(t.state, t.level, t.count) for t in told.tallies] == [(State.held, 0, 1)]


async def test_another_tenants_message_is_not_known(bench: Bench) -> None:
    sent = await bench.send(await bench.queue(tenant="acme"))
    assert await bench.store.message_facts("default", sent) is None
    assert await bench.store.message_facts("acme", sent) is not None
    assert await bench.store.message_facts(None, sent) is not None
    assert await bench.store.message_facts(None, sent + 1) is None
    assert await bench.store.queue_facts("default", "shop") is None


async def test_a_queue_tells_its_messages_by_lane_state_and_level(bench: Bench) -> None:
    queue = await bench.queue(shards=2)
    await bench.send(queue, shard=1, after_s=60)
    sent = [await bench.send(queue) for _ in range(4)]
    lane = await bench.take()
    dies, climbs, doubts, _ = await bench.due(lane.id)
    assert len(sent) == 4
    await bench.became(dies, Move.die)
    await bench.became(climbs, Move.climb, after_s=30)
    await bench.became(doubts, Move.doubt)
    told = await bench.store.queue_facts("default", "shop")
    assert told is not None
    assert told.dead == 1
    assert [lane.id for lane in told.lanes] == list(queue.lanes)
    zero, one = queue.lanes
    rows = {(t.lane, t.state, t.level): (t.count, t.oldest_due_ms) for t in told.tallies}
    assert rows.pop((zero, State.uncertain, 0))[0] == 1
    assert rows == {
        (zero, State.waiting, 0): (1, bench.now_ms),
        (zero, State.waiting, 1): (1, bench.at(30)),
        (one, State.waiting, 0): (1, bench.at(60)),
    }


async def test_a_paused_queue_and_a_paused_lane_hold_what_waits(bench: Bench) -> None:
    queue = await bench.queue("a", server="host")
    await bench.queue("b", server="host")
    sent = await bench.send(queue)
    await bench.store.pause_queue(queue.id, paused=True)
    paused_ms = bench.now_ms
    await bench.advance(60)
    facts = await facts_of(bench, sent)
    assert (facts.queue.paused, facts.paused_at_ms) == (True, paused_ms)
    await bench.store.pause_queue(queue.id, paused=False)
    await bench.store.pause_lane(queue.lanes[0], paused=True)
    told = await bench.store.lane_facts(queue.lanes[0])
    assert told is not None
    assert (told.queues, told.lane.paused_at_ms) == (2, bench.now_ms)
    assert [(t.state, t.level, t.count) for t in told.tallies] == [(State.held, 0, 1)]
    assert await bench.store.lane_facts(queue.lanes[0] + 77) is None


async def test_a_lane_tells_its_circuit_and_lost_leases(bench: Bench) -> None:
    await bench.send(await bench.queue())
    lane = await bench.take()
    circuit = Circuit(3, 1, bench.at(60), bench.now_ms, "refused")
    await bench.circuit(lane, circuit)
    await bench.vanish()
    told = await bench.store.lane_facts(lane.id)
    assert told is not None
    assert (told.lane.circuit, told.lane.crashes, told.lane.owner) == (circuit, 1, None)
    assert (await live_of(bench, (await ids(bench))[0])).expires_at_ms == NEVER


async def ids(bench: Bench) -> list[int]:
    return [number for (number,) in await bench.rows("select id from message")]


async def test_a_store_tells_what_it_is_and_how_large(bench: Bench) -> None:
    facts = await bench.store.store_facts()
    assert facts.product.startswith(("SQLite 3.", "PostgreSQL 1"))
    assert facts.layout >= 1
    assert facts.size_bytes > 10_000
