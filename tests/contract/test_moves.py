"""Recording: what each decision makes of its message."""

import pytest
from msgspec.structs import replace

from postroad.model.decide import Move
from postroad.model.entities import Lane, Message
from postroad.model.states import NEVER, DeadReason
from tests.contract.bench import Bench


async def started(bench: Bench) -> tuple[Lane, Message]:
    """One message that its lane's owner is trying."""
    await bench.send(await bench.queue())
    lane = await bench.take()
    return lane, await bench.only(lane.id)


async def test_delivered_goes_to_history(bench: Bench) -> None:
    lane, message = await started(bench)
    await bench.became(message, Move.deliver)
    assert await bench.counts() == {"delivered": 1}
    assert await bench.delivered() == {message.id: False}
    assert await bench.due(lane.id) == []
    assert await bench.release(lane) == {}


async def test_history_tells_how_it_was_delivered(bench: Bench) -> None:
    lane, message = await started(bench)
    await bench.became(message, Move.climb)
    await bench.became(await bench.only(lane.id), Move.deliver)
    assert await bench.rows(
        "select accepted_at, finished_at, level, attempts, took_ms from history"
    ) == [(message.accepted_at_ms, bench.now_ms, 1, 2, 5)]


async def test_climb_waits_at_the_next_level_until_it_is_due(bench: Bench) -> None:
    lane, message = await started(bench)
    await bench.became(message, Move.climb, level=1, after_s=60)
    assert await bench.due(lane.id) == []
    assert (await bench.view(lane.id)).next_at_ms == bench.at(60)
    await bench.advance(60)
    (again,) = await bench.due(lane.id)
    assert (again.id, again.level, again.attempts) == (message.id, 1, 1)
    assert again.rung != message.rung
    levels = {rung.id: rung.level for rung in (await bench.view(lane.id)).rungs}
    assert levels[again.rung] == 1


async def test_climb_keeps_what_the_sender_gave(bench: Bench) -> None:
    lane = await bench.queue()
    await bench.send(lane, b"body", priority=4, ttl_s=900)
    owned = await bench.take()
    before = await bench.only(owned.id)
    await bench.became(before, Move.climb)
    after = await bench.only(owned.id)
    assert (after.body, after.expires_at_ms, after.accepted_at_ms) == (
        b"body",
        before.expires_at_ms,
        before.accepted_at_ms,
    )
    assert (await bench.view(owned.id)).rungs[-1].priority == 4


async def test_wait_comes_back_at_its_time_on_the_same_level(bench: Bench) -> None:
    lane, message = await started(bench)
    await bench.became(message, Move.wait, after_s=7)
    assert await bench.due(lane.id) == []
    await bench.advance(7)
    again = await bench.only(lane.id)
    assert (again.id, again.level, again.attempts) == (message.id, 0, 1)


@pytest.mark.parametrize("move", [Move.stay, Move.again])
async def test_stay_and_again_spend_a_try_and_no_level(bench: Bench, move: Move) -> None:
    lane, message = await started(bench)
    await bench.became(message, move, after_s=1)
    again = await bench.only(lane.id)
    assert (again.id, again.level, again.attempts) == (message.id, 0, 1)
    assert (again.rung, again.place) == (message.rung, message.place)


async def test_behind_lets_others_of_its_rung_go_first_and_is_due_as_it_was(bench: Bench) -> None:
    lane, message = await started(bench)
    other = await bench.send(await bench.queue())
    await bench.advance(5)
    await bench.became(message, Move.behind, after_s=0)
    first, last = await bench.due(lane.id)
    assert (first.id, last.id) == (other, message.id)
    assert (last.level, last.attempts, last.due_ms) == (0, 1, message.due_ms)


async def test_die_puts_it_in_the_dead_set_with_its_reason(bench: Bench) -> None:
    lane, message = await started(bench)
    await bench.became(message, Move.die, reason=DeadReason.exhausted, error="it said no")
    assert await bench.counts() == {"dead": 1}
    assert await bench.rows("select id, reason, error, attempts, died_at from dead") == [
        (message.id, "exhausted", "it said no", 1, bench.now_ms)
    ]
    assert await bench.due(lane.id) == []


@pytest.mark.parametrize("reason", DeadReason)
async def test_a_message_can_die_of_every_reason(bench: Bench, reason: DeadReason) -> None:
    _, message = await started(bench)
    await bench.became(message, Move.die, reason=reason)
    assert await bench.dead() == {message.id: reason}


async def test_the_dead_keep_all_that_a_replay_needs(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue, b"body", order_key="k")
    lane = await bench.take()
    order_group = (await bench.view(lane.id)).rungs[0].order_group
    message = await bench.only(lane.id)
    await bench.became(message, Move.die)
    assert await bench.rows(
        "select queue_id, lane_id, order_group, order_key, body, accepted_at from dead"
    ) == [(queue.id, lane.id, order_group, "k", b"body", message.accepted_at_ms)]


async def test_doubt_makes_it_uncertain_and_it_never_comes_back_by_itself(bench: Bench) -> None:
    lane, message = await started(bench)
    await bench.became(message, Move.doubt)
    assert await bench.counts() == {"uncertain": 1}
    assert await bench.due(lane.id) == []
    assert await bench.release(lane) == {}
    await bench.advance(30 * 86_400)
    claim = await bench.claim()
    assert (claim.lanes, set(claim.next_at_ms.values())) == ([], {NEVER})


async def test_doubt_in_an_order_lets_the_next_one_go(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.send(queue, order_key="k")
    second = await bench.send(queue, order_key="k")
    lane = await bench.take()
    await bench.became((await bench.due(lane.id))[0], Move.doubt)
    assert (await bench.only(lane.id)).id == second


async def test_every_try_that_did_not_deliver_is_noted(bench: Bench) -> None:
    lane, message = await started(bench)
    for move in (Move.again, Move.stay, Move.climb, Move.die):
        message = await bench.only(lane.id)
        await bench.became(message, move, error=f"because {move}")
    assert await bench.rows("select number, level, error from attempt order by number") == [
        (1, 0, "because again"),
        (2, 0, "because stay"),
        (3, 0, "because climb"),
        (4, 1, "because die"),
    ]


async def test_a_batch_is_applied_message_by_message(bench: Bench) -> None:
    queue = await bench.queue()
    moves = [Move.deliver, Move.climb, Move.die, Move.doubt, Move.stay]
    for _ in moves:
        await bench.send(queue)
    lane = await bench.take()
    messages = await bench.due(lane.id)
    results = [
        bench.result(message, move, after_s=60 if move is Move.climb else 0)
        for message, move in zip(messages, moves, strict=True)
    ]
    assert (await bench.record(results)).lost == frozenset()
    assert await bench.counts() == {"delivered": 1, "waiting": 2, "uncertain": 1, "dead": 1}
    assert (await bench.only(lane.id)).id == messages[4].id


@pytest.mark.parametrize("move", [Move.climb, Move.wait, Move.stay, Move.die, Move.deliver])
async def test_a_result_written_twice_counts_once(bench: Bench, move: Move) -> None:
    # The recorder writes again when it did not hear that the first time went well.
    lane, message = await started(bench)
    result = bench.result(message, move, level=1 if move is Move.climb else 0)
    await bench.record([result])
    before = await bench.due(lane.id), await bench.counts()
    await bench.record([result])
    assert (await bench.due(lane.id), await bench.counts()) == before


async def test_a_message_that_was_delivered_twice_in_one_batch_counts_once(bench: Bench) -> None:
    # Its lane was lost and claimed again, and both tries end at the same time.
    queue = await bench.queue()
    await bench.send(queue)
    await bench.send(queue)
    lane = await bench.take()
    first, second = await bench.due(lane.id)
    results = [bench.result(message, Move.deliver) for message in (first, second, first)]
    await bench.record([replace(results[0], took_ms=9), *results[1:]])
    assert await bench.counts() == {"delivered": 2}


async def test_of_messages_delivered_together_each_is_remembered_as_it_was(bench: Bench) -> None:
    queues = [await bench.queue(name, server="host") for name in ("a", "b")]
    sent = []
    for after_ms in (0, 20, 20, 20, 400):  # in one moment, and later; each queue has some of both
        await bench.advance(after_ms / 1000)
        sent += await bench.store.accept([bench.draft(queue) for queue in queues])
    lane = await bench.take()
    tried, *_ = await bench.due(lane.id)
    await bench.became(tried, Move.stay)
    messages = await bench.due(lane.id)
    results = [bench.result(message, Move.deliver) for message in messages]
    await bench.record([replace(r, took_ms=r.message.id >> 13 & 3) for r in results])
    assert len(messages) == len(sent) == 10
    told = "select id, queue_id, state, accepted_at, level, attempts, took_ms from history"
    assert sorted(await bench.rows(told)) == sorted(
        (m.id, m.queue, "delivered", m.accepted_at_ms, 0, 1 + (m.id == tried.id), m.id >> 13 & 3)
        for m in messages
    )
    assert await bench.rows("select distinct finished_at from history") == [(bench.now_ms,)]
    for message in messages:
        facts = await bench.store.message_facts("default", message.id)
        assert facts is not None
        assert facts.ended is not None
        assert (facts.queue.id, facts.ended.state) == (message.queue, "delivered")
        assert (facts.accepted_at_ms, facts.tries[-1].took_ms) == (
            message.accepted_at_ms,
            message.id >> 13 & 3,
        )


async def test_results_change_nothing_about_other_messages(bench: Bench) -> None:
    queue = await bench.queue()
    for _ in range(3):
        await bench.send(queue)
    lane = await bench.take()
    first, *others = await bench.due(lane.id)
    await bench.became(first, Move.climb, after_s=60)
    assert await bench.due(lane.id) == others
