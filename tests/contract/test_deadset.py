"""The dead set: what a page shows, what a replay puts back, what a purge takes."""

import pytest

from postroad.model.block import BlockKind
from postroad.model.dead import TOP, DeadFilter, ReplayMode
from postroad.model.decide import Move
from postroad.model.entities import Lane, Message, Policy, Queue
from postroad.model.errors import NotDead, UnknownMessage
from postroad.model.ids import to_text
from postroad.model.ladder import with_retries
from postroad.model.states import NEVER, DeadReason
from tests.contract.bench import Bench

ALL = DeadFilter()
POLICY = Policy(ladder=with_retries(Policy().ladder, 3))
HOUR_S = 3_600


async def kill(bench: Bench, queue: Queue, *, error: str = "", priority: int = 0) -> int:
    """A message that was tried once and rejected."""
    sent = await bench.send(queue, b'{"n":1}', priority=priority)
    lane = await bench.take()
    message = next(m for m in await bench.due(lane.id) if m.id == sent)
    await bench.became(message, Move.die, error=error)
    await bench.release(lane)
    return sent


async def replay(
    bench: Bench, which: DeadFilter = ALL, mode: ReplayMode = ReplayMode.once, count: int = NEVER
) -> int:
    return await bench.store.dead_replay(which, mode, count=count, dry_run=False)


async def page(bench: Bench, which: DeadFilter = ALL) -> list[str]:
    return [message.id for message in await bench.store.dead_page(which, TOP, 100)]


async def test_a_page_goes_on_behind_its_last_message(bench: Bench) -> None:
    queue = await bench.queue()
    ids = [await kill(bench, queue) for _ in range(3)]
    await bench.advance(1)
    ids += [await kill(bench, queue) for _ in range(2)]
    seen: list[int] = []
    place = TOP
    while found := await bench.store.dead_page(ALL, place, 2):
        seen += [i for i in ids for message in found if message.id == to_text(i)]
        number = next(i for i in ids if to_text(i) == found[-1].id)
        place = (found[-1].died_at_ms, number)
    assert sorted(seen) == sorted(ids)
    assert set(seen[:2]) == set(ids[3:])


async def test_filters_narrow_what_is_shown(bench: Bench) -> None:
    shop, bank = await bench.queue(), await bench.queue("bank")
    acme = await bench.queue("shop", server="acme", tenant="acme")
    first = to_text(await kill(bench, shop, error="Out of Paper"))
    middle_ms = bench.at(30)
    await bench.advance(60)
    second = to_text(await kill(bench, bank, error="50% off_line"))
    foreign = to_text(await kill(bench, acme))
    assert set(await page(bench)) == {first, second}
    assert await page(bench, DeadFilter(queue="bank")) == [second]
    assert await page(bench, DeadFilter(error="paper")) == [first]
    assert await page(bench, DeadFilter(error="% OFF_")) == [second]
    assert await page(bench, DeadFilter(error="5_")) == []
    assert await page(bench, DeadFilter(since_ms=middle_ms)) == [second]
    assert await page(bench, DeadFilter(until_ms=middle_ms)) == [first]
    assert await page(bench, DeadFilter(reason=DeadReason.expired)) == []
    assert await page(bench, DeadFilter(tenant="acme")) == [foreign]
    assert set(await page(bench, DeadFilter(tenant=None))) == {first, second, foreign}


async def test_a_replay_takes_the_longest_dead_of_what_it_is_asked_for(bench: Bench) -> None:
    shop, bank = await bench.queue(), await bench.queue("bank")
    acme = await bench.queue("shop", server="acme", tenant="acme")
    died = []
    for queue in (acme, shop, bank, shop, bank):
        died.append(to_text(await kill(bench, queue)))
        await bench.advance(60)
    assert await replay(bench, DeadFilter(queue="shop", since_ms=bench.at(-150))) == 1
    assert set(await page(bench)) == {died[1], died[2], died[4]}
    assert await replay(bench, DeadFilter(), count=1) == 1
    assert set(await page(bench)) == {died[2], died[4]}
    assert await replay(bench, DeadFilter(queue="bank"), count=1) == 1
    assert await page(bench, DeadFilter(tenant=None)) == [died[4], died[0]]
    assert await replay(bench, DeadFilter(tenant="nobody")) == 0
    assert await replay(bench, DeadFilter(tenant=None, queue="shop")) == 1


async def test_a_letter_holds_what_was_sent_and_tried(bench: Bench) -> None:
    sent = await kill(bench, await bench.queue(), error="no", priority=4)
    letter = await bench.store.dead_letter("default", sent)
    assert letter is not None
    assert (letter.body, letter.headers) == (b'{"n":1}', {})
    assert (letter.message.queue, letter.message.priority, letter.message.attempts) == (
        "shop",
        4,
        1,
    )
    assert [(t.number, t.error, t.took_ms) for t in letter.tries] == [(1, "no", 5)]
    assert await bench.store.dead_letter("acme", sent) is None
    assert await bench.store.dead_letter(None, sent + 1) is None


@pytest.mark.parametrize(("mode", "level"), [(ReplayMode.once, 3), (ReplayMode.reset, 0)])
async def test_a_replayed_message_is_due_now_at_its_level(
    bench: Bench, mode: ReplayMode, level: int
) -> None:
    sent = await kill(bench, await bench.queue(policy=POLICY), priority=4)
    await bench.advance(60)
    heard = bench.listen()
    assert await replay(bench, mode=mode) == 1
    assert await bench.counts() == {"waiting": 1}
    assert await bench.store.dead_page(ALL, TOP, 10) == []
    await heard.until(lambda: (level, bench.now_ms) in heard.ready)
    (lane,) = (await bench.claim([level])).lanes
    message = await bench.only(lane.id)
    assert (message.id, message.level, message.attempts) == (sent, level, 1)
    assert (message.expires_at_ms, message.marks, message.body) == (NEVER, 0, b'{"n":1}')
    assert message.due_ms == bench.now_ms


async def test_the_tries_of_a_replayed_message_are_numbered_on(bench: Bench) -> None:
    sent = await kill(bench, await bench.queue())
    await replay(bench)
    lane = await bench.take()
    await bench.became(await bench.only(lane.id), Move.die)
    letter = await bench.store.dead_letter("default", sent)
    assert letter is not None
    assert [t.number for t in letter.tries] == [1, 2]
    assert letter.message.attempts == 2


async def test_a_replay_under_a_block_waits_for_its_end(bench: Bench) -> None:
    queue = await bench.queue()
    await kill(bench, queue)
    await bench.send(queue)
    lane = await bench.take()
    await bench.block(queue, lane, HOUR_S)
    assert await replay(bench) == 1
    assert await bench.due(lane.id) == []
    await bench.advance(HOUR_S)
    assert len(await bench.due(lane.id)) == 2


async def test_what_died_of_a_spell_is_not_swept_again_when_it_comes_back(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue)
    lane = await bench.take()
    await bench.block(queue, lane, 8 * 24 * HOUR_S, BlockKind.quota)
    await bench.advance(7 * 24 * HOUR_S + 1)
    assert (await bench.store.sweep(10)).expired == 1
    assert await replay(bench) == 1
    assert (await bench.store.sweep(10)).expired == 0
    assert await bench.counts() == {"held": 1}


async def test_the_longest_dead_are_replayed_and_purged_first(bench: Bench) -> None:
    queue = await bench.queue()
    ids = []
    for _ in range(4):
        ids.append(await kill(bench, queue))
        await bench.advance(1)
    assert await bench.store.dead_replay(ALL, ReplayMode.once, count=2, dry_run=True) == 2
    assert await bench.store.dead_purge(ALL, count=NEVER, dry_run=True) == 4
    assert await replay(bench, count=1) == 1
    assert set(await bench.dead()) == set(ids[1:])
    assert await bench.store.dead_purge(ALL, count=1, dry_run=False) == 1
    assert set(await bench.dead()) == set(ids[2:])
    left = await bench.rows("select distinct message_id from attempt order by 1")
    assert [number for (number,) in left] == [ids[0], *ids[2:]]


async def test_trimming_keeps_the_latest(bench: Bench) -> None:
    queue = await bench.queue()
    ids = []
    for _ in range(5):
        ids.append(await kill(bench, queue))
        await bench.advance(1)
    assert await bench.store.dead_trim(5) == 0
    assert await bench.store.dead_trim(10**12) == 0
    assert await bench.store.dead_trim(2) == 3
    assert set(await bench.dead()) == set(ids[3:])
    assert len(await bench.rows("select * from attempt")) == 2


async def order_group(bench: Bench) -> tuple[Lane, list[Message]]:
    """Three messages of one order, on an owned lane."""
    queue = await bench.queue(policy=POLICY)
    for _ in range(3):
        await bench.send(queue, order_key="k")
    lane = await bench.take()
    return lane, await bench.due(lane.id)


async def test_ordered_ones_go_to_the_end_of_their_order_group_in_order(bench: Bench) -> None:
    lane, (first, second, third) = await order_group(bench)
    await bench.became(first, Move.die)
    await bench.became(second, Move.die)
    await bench.advance(60)
    assert await replay(bench, DeadFilter(ids=(second.id, first.id))) == 2
    assert [m.id for m in await bench.due(lane.id)] == [third.id, first.id, second.id]


async def test_one_that_comes_back_to_an_empty_order_group_is_its_head(bench: Bench) -> None:
    lane, messages = await order_group(bench)
    for message in messages:
        await bench.became(message, Move.die)
    await bench.release(lane)
    assert await replay(bench, DeadFilter(ids=(messages[1].id,))) == 1
    (lane,) = (await bench.claim([3])).lanes
    assert (await bench.only(lane.id)).id == messages[1].id


async def test_one_that_comes_back_behind_a_held_head_frees_nobody(bench: Bench) -> None:
    lane, (first, second, third) = await order_group(bench)
    await bench.became(first, Move.die)
    await bench.became(second, Move.hold)
    assert await replay(bench) == 1
    assert await bench.due(lane.id) == []
    assert await replay(bench, DeadFilter(ids=(second.id,))) == 1
    assert [m.id for m in await bench.due(lane.id)] == [second.id, third.id, first.id]


@pytest.mark.parametrize(("mode", "level"), [(ReplayMode.once, 3), (ReplayMode.reset, 0)])
async def test_a_held_head_is_replayed_where_it_is(
    bench: Bench, mode: ReplayMode, level: int
) -> None:
    lane, (first, second, third) = await order_group(bench)
    await bench.became(first, Move.hold)
    await bench.release(lane)
    assert await replay(bench, mode=mode) == 0
    assert await replay(bench, DeadFilter(ids=(first.id,)), mode) == 1
    (lane,) = (await bench.claim([level])).lanes
    head, *behind = await bench.due(lane.id)
    assert (head.id, head.level, head.place, head.attempts) == (first.id, level, first.place, 1)
    assert [m.id for m in behind] == [second.id, third.id]


async def test_one_that_is_not_dead_changes_nothing(bench: Bench) -> None:
    queue = await bench.queue()
    dead = await kill(bench, queue)
    waiting = await bench.send(queue, after_s=60)
    for other, error in ((waiting, NotDead), (dead + 1, UnknownMessage)):
        which = DeadFilter(ids=(dead, other))
        with pytest.raises(error):
            await replay(bench, which)
        with pytest.raises(error):
            await bench.store.dead_purge(which, count=NEVER, dry_run=False)
    with pytest.raises(UnknownMessage):
        await replay(bench, DeadFilter(tenant="acme", ids=(dead,)))
    assert set(await bench.dead()) == {dead}
    assert await replay(bench, DeadFilter(ids=())) == 0
    assert await replay(bench, DeadFilter(ids=(dead, dead))) == 1


async def test_an_owner_hears_of_a_replay(bench: Bench) -> None:
    queue = await bench.queue()
    await kill(bench, queue)
    await bench.send(queue)
    lane = await bench.take()
    heard = bench.listen()
    assert await replay(bench) == 1
    await heard.until(lambda: lane.id in [number for number, *_ in heard.lane])


@pytest.mark.parametrize(
    ("move", "order_key"),
    [
        (Move.climb, ""),
        (Move.die, ""),
        (Move.cancel, ""),
        (Move.doubt, ""),
        (Move.climb, "o"),
        (Move.hold, "o"),
    ],
)
async def test_a_replayed_message_does_not_take_what_its_old_try_came_to(
    bench: Bench, move: Move, order_key: str
) -> None:
    """It died of its deadline while it was tried, and was replayed before that try ended."""
    queue = await bench.queue(policy=POLICY)
    sent = await bench.send(queue, ttl_s=60, order_key=order_key)
    lane = await bench.take()
    old = await bench.only(lane.id)
    await bench.advance(61)
    assert (await bench.store.sweep(10)).expired == 1
    await bench.advance(1)
    assert await replay(bench, DeadFilter(ids=(sent,)), ReplayMode.reset) == 1
    await bench.became(old, move, level=2, after_s=600)
    again = await bench.only(lane.id)
    assert (again.id, again.level, again.attempts) == (sent, 0, 1)
    assert await bench.counts() == {"waiting": 1}
    await bench.became(again, Move.deliver)
    assert await bench.counts() == {"delivered": 1}


async def test_a_success_of_an_old_try_counts_also_for_a_replayed_message(bench: Bench) -> None:
    queue = await bench.queue(policy=POLICY)
    sent = await bench.send(queue, ttl_s=60)
    lane = await bench.take()
    old = await bench.only(lane.id)
    await bench.advance(61)
    await bench.store.sweep(10)
    await replay(bench, DeadFilter(ids=(sent,)))
    await bench.became(old, Move.deliver)
    assert await bench.counts() == {"delivered": 1}
