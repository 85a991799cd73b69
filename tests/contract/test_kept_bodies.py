"""Bodies of delivered messages are kept where that is asked for, and no longer than asked."""

from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import DAY_MS, Policy
from postroad.model.record import Result, Retention
from tests.contract.bench import Bench

KEPT = Policy(keep_bodies_ms=60_000)


def keep(result: Result) -> Result:
    return replace(result, keep=Retention(60_000))


async def test_a_kept_body_is_there_until_its_time(bench: Bench) -> None:
    queue = await bench.queue(policy=KEPT)
    assert (await bench.find(queue)).policy.keep_bodies_ms == 60_000
    kept = await bench.send(queue, b'{"n":1}', priority=3)
    other = await bench.send(queue, b'{"n":2}')
    lane = await bench.take()
    due = {message.id: message for message in await bench.due(lane.id)}
    results = [bench.result(due[number], Move.deliver) for number in (kept, other)]
    await bench.record([keep(results[0]), results[1]])
    (body,) = await bench.store.bodies([kept, other])
    assert (body.id, body.queue, body.body) == (kept, "shop", b'{"n":1}')
    assert body.priority == 3
    await bench.advance(59)
    await bench.store.retain(DAY_MS, DAY_MS)
    assert len(await bench.store.bodies([kept])) == 1
    await bench.advance(2)
    await bench.store.retain(DAY_MS, DAY_MS)
    assert await bench.store.bodies([kept]) == []


async def test_a_body_is_kept_once_however_often_its_delivery_is_told(bench: Bench) -> None:
    queue = await bench.queue()
    number = await bench.send(queue, b"[1]")
    lane = await bench.take()
    result = keep(bench.result(await bench.only(lane.id), Move.deliver))
    await bench.record([result])
    await bench.record([result])
    (body,) = await bench.store.bodies([number])
    assert body.body == b"[1]"
    assert await bench.store.body_of_unfinished(number) is None


async def test_dead_and_unfinished_messages_have_their_bodies(bench: Bench) -> None:
    queue = await bench.queue()
    number = await bench.send(queue, b"[1]")
    found = await bench.store.body_of_unfinished(number)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.die)
    (dead,) = await bench.store.bodies([number])
    assert (dead.tenant, dead.body) == ("default", b"[1]")
    if found is not None:  # a broker has it
        assert found.body == b"[1]"
