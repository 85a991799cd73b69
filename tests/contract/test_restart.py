"""Restarts: everything is as it was, and what a dead process held is free."""

from postroad.model.block import BlockKind
from postroad.model.circuit import Circuit
from postroad.model.decide import Move
from postroad.model.entities import Accepted
from tests.contract.bench import Bench
from tests.contract.ground import LEASE_MS

TABLES = ("queue", "message", "dead", "history", "attempt", "idempotency", "queue_lane")


async def test_everything_stored_is_there_after_a_restart(bench: Bench) -> None:
    queue = await bench.queue()
    for move in (Move.deliver, Move.die, Move.doubt, Move.climb, Move.stay):
        await bench.send(queue, b"body", key=move)
        lane = await bench.take()
        await bench.became((await bench.due(lane.id))[-1], move, after_s=9e6)
        await bench.release(lane)
        await bench.advance(1)
    before = [await bench.rows(f"select * from {table} order by 1, 2") for table in TABLES]
    counts = await bench.counts()
    await bench.reopen()
    assert await bench.counts() == counts
    after = [await bench.rows(f"select * from {table} order by 1, 2") for table in TABLES]
    assert after == before


async def test_a_keys_first_use_is_remembered_over_a_restart(bench: Bench) -> None:
    queue = await bench.queue()
    sent = await bench.send(queue, b"x", key="k")
    await bench.reopen()
    assert await bench.store.accept([bench.draft(queue, b"x", key="k")]) == [
        Accepted(sent, duplicate=True)
    ]


async def test_a_queues_block_survives_a_restart(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    block = await bench.block(queue, lane, 3600, BlockKind.quota)
    await bench.reopen()
    assert (await bench.find(queue)).block == block
    await bench.send(queue)
    claim = await bench.claim()
    assert (claim.lanes, claim.next_at_ms[0]) == ([], block.until_ms)
    await bench.advance((block.until_ms - bench.now_ms) / 1000)
    assert len(await bench.due((await bench.take()).id)) == 2


async def test_an_open_circuit_survives_a_restart(bench: Bench) -> None:
    await bench.send(await bench.queue())
    circuit = Circuit(5, 3, bench.at(300), bench.now_ms, "refused")
    await bench.circuit(await bench.take(), circuit)
    await bench.reopen()
    claim = await bench.claim()
    assert (claim.lanes, claim.next_at_ms[0]) == ([], circuit.until_ms)
    await bench.advance(300)
    assert (await bench.take()).circuit == circuit


async def test_a_held_order_group_survives_a_restart(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue, order_key="k")
    await bench.became(await bench.only((await bench.take()).id), Move.hold)
    await bench.reopen()
    await bench.send(queue, order_key="k")
    assert (await bench.claim()).lanes == []
    assert await bench.counts() == {"held": 2}


async def test_an_order_goes_on_after_a_restart(bench: Bench) -> None:
    queue = await bench.queue()
    sent = [await bench.send(queue, order_key="k") for _ in range(3)]
    await bench.reopen()
    sent += [await bench.send(queue, order_key="k") for _ in range(3)]
    assert [m.id for m in await bench.due((await bench.take()).id)] == sent


async def test_the_lanes_of_a_dead_process_are_free_and_suspect(bench: Bench) -> None:
    sent = await bench.send(await bench.queue())
    lane = await bench.take()
    await bench.store.mark(bench.owner, lane, [sent])
    old = bench.owner
    await bench.reopen()
    assert not await bench.store.beat(old)
    again = await bench.take()
    assert again.crashes == 1
    assert again.epoch > lane.epoch
    message = await bench.only(again.id)
    assert (message.id, message.marks) == (sent, 1)


async def test_who_left_before_the_restart_is_not_suspect(bench: Bench) -> None:
    await bench.send(await bench.queue())
    await bench.take()
    await bench.store.leave(bench.owner)
    await bench.reopen()
    assert (await bench.take()).crashes == 0


async def test_owner_numbers_do_not_start_again(bench: Bench) -> None:
    old = bench.owner
    await bench.store.leave(old)
    await bench.reopen()
    assert bench.owner > old
    assert (await bench.store.reap(LEASE_MS)).lost == 0
