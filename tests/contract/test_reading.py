"""Looking and fetching: what the owner of a lane reads, in which order."""

from postroad.model.decide import Move
from postroad.model.entities import Policy
from postroad.model.record import Look, Reading, Want
from postroad.model.states import NEVER
from tests.contract.bench import Bench

ORDERED = Policy(ordered=True)


async def fetch(bench: Bench, rung: int, after: tuple[int, int] = (-1, -1), n: int = 9) -> Reading:
    (reading,) = await bench.store.fetch([Want(rung, *after, limit=n)])
    return reading


def ids(reading: Reading) -> list[int]:
    return [message.id for message in reading.messages]


async def test_a_look_shows_ready_rungs_with_their_queues(bench: Bench) -> None:
    one = await bench.queue("a", server="host")
    two = await bench.queue("b", server="host")
    await bench.queue("idle", server="host")
    await bench.send(one)
    await bench.advance(1)
    await bench.send(two)
    await bench.send(two)
    view = await bench.view((await bench.take()).id)
    assert [(rung.queue, rung.level) for rung in view.rungs] == [(one.id, 0), (two.id, 0)]
    assert sorted(view.queues, key=lambda queue: queue.id) == [one, two]


async def test_a_look_says_when_the_next_rung_is_ready(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    await bench.send(queue, priority=1, after_s=20)
    await bench.send(queue, priority=2, after_s=10)
    lane = await bench.take()
    view = await bench.view(lane.id)
    assert ([rung.priority for rung in view.rungs], view.next_at_ms) == ([0], bench.at(10))
    await bench.advance(20)
    assert (await bench.view(lane.id)).next_at_ms == NEVER


async def test_a_look_leaves_out_what_was_ready_before_a_time(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    looked_ms = bench.now_ms
    await bench.advance(1)
    await bench.send(queue, priority=1)
    lane = await bench.take()
    assert [rung.priority for rung in (await bench.view(lane.id, looked_ms)).rungs] == [1]
    assert (await bench.view(lane.id, bench.now_ms)).rungs == []


async def test_a_named_rung_is_shown_also_when_it_is_not_ready(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    (rung,) = (await bench.view(lane.id)).rungs
    (view,) = await bench.store.look([Look(lane.id, bench.now_ms, (rung.id,))])
    assert ([found.id for found in view.rungs], view.queues) == ([rung.id], [queue])


async def test_several_lanes_are_looked_at_in_one_question(bench: Bench) -> None:
    queues = [await bench.queue(name) for name in "abc"]
    for queue in queues:
        await bench.send(queue)
    lanes = [lane.id for lane in (await bench.claim()).lanes]
    views = await bench.store.look([Look(lane, -1) for lane in lanes])
    assert [view.lane for view in views] == lanes
    assert [view.rungs[0].lane for view in views] == lanes


async def test_messages_come_by_due_time_then_by_id(bench: Bench) -> None:
    queue = await bench.queue()
    late, early = await bench.send(queue, after_s=3), await bench.send(queue, after_s=1)
    second, third = await bench.send(queue, after_s=2), await bench.send(queue, after_s=2)
    await bench.advance(4)
    lane = await bench.take()
    assert [m.id for m in await bench.due(lane.id)] == [early, second, third, late]


async def test_a_cursor_goes_through_a_rung_without_gap_or_repeat(bench: Bench) -> None:
    queue = await bench.queue()
    sent = [await bench.send(queue) for _ in range(7)]
    (rung,) = (await bench.view((await bench.take()).id)).rungs
    reading = await fetch(bench, rung.id, n=3)
    seen = ids(reading)
    while reading.full:
        last = reading.messages[-1]
        reading = await fetch(bench, rung.id, (last.place, last.id), n=3)
        seen += ids(reading)
    assert seen == sent
    assert reading.next_due_ms == NEVER


async def test_what_is_not_due_is_left_out_and_its_time_is_told(bench: Bench) -> None:
    queue = await bench.queue()
    now, soon = await bench.send(queue), await bench.send(queue, after_s=5)
    await bench.send(queue, after_s=9)
    (rung,) = (await bench.view((await bench.take()).id)).rungs
    reading = await fetch(bench, rung.id)
    assert (ids(reading), reading.next_due_ms, reading.full) == ([now], bench.at(5), False)
    await bench.advance(5)
    assert ids(await fetch(bench, rung.id)) == [now, soon]


async def test_an_empty_rung_reads_as_empty(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    message = await bench.only(lane.id)
    await bench.became(message, Move.deliver)
    assert await fetch(bench, message.rung) == Reading(message.rung, [], NEVER, full=False)


async def test_several_rungs_are_read_in_one_question(bench: Bench) -> None:
    queue = await bench.queue()
    sent = [await bench.send(queue, priority=priority) for priority in (0, 1, 2)]
    view = await bench.view((await bench.take()).id)
    wants = [Want(rung.id, -1, -1, 5) for rung in view.rungs]
    readings = await bench.store.fetch(wants)
    assert [reading.rung for reading in readings] == [want.rung for want in wants]
    assert sorted(number for reading in readings for number in ids(reading)) == sent


async def test_each_priority_is_a_rung_of_its_own(bench: Bench) -> None:
    queue = await bench.queue()
    sent = {priority: await bench.send(queue, priority=priority) for priority in (-9, 0, 9)}
    view = await bench.view((await bench.take()).id)
    found = {rung.priority: ids(await fetch(bench, rung.id)) for rung in view.rungs}
    assert found == {priority: [number] for priority, number in sent.items()}


async def test_large_bodies_are_read_a_few_at_a_time_and_none_is_lost(bench: Bench) -> None:
    queue = await bench.queue()
    sent = [await bench.send(queue, bytes(1 << 20)) for _ in range(7)]
    (rung,) = (await bench.view((await bench.take()).id)).rungs
    first = await fetch(bench, rung.id)
    assert first.full
    assert 0 < len(first.messages) < 7
    last = first.messages[-1]
    assert ids(first) + ids(await fetch(bench, rung.id, (last.place, last.id))) == sent


async def test_an_ordered_queue_is_read_by_position_whatever_is_due(bench: Bench) -> None:
    queue = await bench.queue(policy=ORDERED)
    first = await bench.send(queue, after_s=5)
    second = await bench.send(queue)
    ((rung,),) = await bench.rows("select id from rung")
    reading = await fetch(bench, rung)
    assert (ids(reading), reading.next_due_ms) == ([], bench.at(5))
    await bench.advance(5)
    assert [m.id for m in await bench.due((await bench.take()).id)] == [first, second]


async def test_position_is_the_order_of_acceptance_whatever_the_ids_say(bench: Bench) -> None:
    queue = await bench.queue(policy=ORDERED)
    older, newer = bench.draft(queue), bench.draft(queue)
    await bench.store.accept([newer])
    await bench.store.accept([older])
    lane = await bench.take()
    assert [m.id for m in await bench.due(lane.id)] == [newer.id, older.id]


async def test_priority_does_not_change_an_order(bench: Bench) -> None:
    queue = await bench.queue()
    sent = [await bench.send(queue, order_key="k", priority=priority) for priority in (0, 9, -9)]
    assert [m.id for m in await bench.due((await bench.take()).id)] == sent


async def test_each_order_key_has_one_order_group(bench: Bench) -> None:
    queue = await bench.queue()
    keys = ("alice", "bob", "", "alice", "")
    sent = [await bench.send(queue, order_key=key) for key in keys]
    view = await bench.view((await bench.take()).id)
    found = {rung.order_group: ids(await fetch(bench, rung.id)) for rung in view.rungs}
    assert found.pop(0) == [sent[2], sent[4]]
    assert sorted(found.values()) == [[sent[0], sent[3]], [sent[1]]]
