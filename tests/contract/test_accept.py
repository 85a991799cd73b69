"""Accepting: stored before it is answered, once for each idempotency key."""

import asyncio
from operator import attrgetter

import pytest
from msgspec.structs import replace

from postroad.model.entities import Accepted
from postroad.model.errors import StoreError
from tests.contract.bench import Bench

DAY_S = 86_400


async def test_each_draft_is_answered_with_its_own_id_in_order(bench: Bench) -> None:
    queue = await bench.queue()
    drafts = [bench.draft(queue, b"%d" % number) for number in range(5)]
    assert await bench.store.accept(drafts) == [Accepted(draft.id) for draft in drafts]
    assert await bench.counts() == {"waiting": 5}


async def test_accepting_nothing_is_answered_with_nothing(bench: Bench) -> None:
    assert await bench.store.accept([]) == []


async def test_what_was_sent_is_what_the_owner_reads(bench: Bench) -> None:
    queue = await bench.queue()
    sent = replace(bench.draft(queue, b"\x00\xff body", ttl_s=60), headers=b'{"a":"b"}')
    await bench.store.accept([sent])
    message = await bench.only((await bench.take()).id)
    same = attrgetter("id", "queue", "lane", "due_ms", "accepted_at_ms", "expires_at_ms")
    assert same(message) == same(sent)
    assert (message.body, message.headers) == (sent.body, sent.headers)
    assert (message.level, message.attempts, message.marks) == (0, 0, 0)


async def test_one_that_cannot_be_stored_takes_its_whole_batch_with_it(bench: Bench) -> None:
    queue = await bench.queue()
    first = bench.draft(queue)
    await bench.store.accept([first])
    with pytest.raises(StoreError):
        await bench.store.accept([bench.draft(queue, key="k"), first])
    assert await bench.counts() == {"waiting": 1}
    # Its key was not used up either.
    assert not (await bench.store.accept([bench.draft(queue, key="k")]))[0].duplicate


async def test_the_same_key_and_body_give_the_first_id_again(bench: Bench) -> None:
    queue = await bench.queue()
    first = await bench.send(queue, b"one", key="k")
    assert await bench.store.accept([bench.draft(queue, b"one", key="k")]) == [
        Accepted(first, duplicate=True)
    ]
    assert await bench.counts() == {"waiting": 1}


async def test_the_same_key_with_another_body_is_a_conflict(bench: Bench) -> None:
    queue = await bench.queue()
    first = await bench.send(queue, b"one", key="k")
    assert await bench.store.accept([bench.draft(queue, b"two", key="k")]) == [
        Accepted(first, conflict=True)
    ]
    assert await bench.counts() == {"waiting": 1}


async def test_the_same_key_twice_in_one_batch_is_one_message(bench: Bench) -> None:
    queue = await bench.queue()
    one, two = bench.draft(queue, b"x", key="k"), bench.draft(queue, b"x", key="k")
    assert await bench.store.accept([one, two]) == [
        Accepted(one.id),
        Accepted(one.id, duplicate=True),
    ]


async def test_another_queue_and_another_tenant_have_their_own_keys(bench: Bench) -> None:
    queues = [
        await bench.queue("shop"),
        await bench.queue("bank"),
        await bench.queue("shop", tenant="acme"),
    ]
    drafts = [bench.draft(queue, b"x", key="k") for queue in queues]
    assert await bench.store.accept(drafts) == [Accepted(draft.id) for draft in drafts]


async def test_messages_without_a_key_never_meet(bench: Bench) -> None:
    queue = await bench.queue()
    assert await bench.send(queue, b"x") != await bench.send(queue, b"x")


async def test_a_key_counts_for_a_day_and_not_longer(bench: Bench) -> None:
    queue = await bench.queue()
    first = await bench.send(queue, b"x", key="k")
    await bench.advance(DAY_S - 0.001)
    assert await bench.send(queue, b"x", key="k") == first
    await bench.advance(0.001)
    second = bench.draft(queue, b"y", key="k")
    assert await bench.store.accept([second]) == [Accepted(second.id)]
    # The new use starts a day of its own.
    await bench.advance(DAY_S / 2)
    assert await bench.send(queue, b"y", key="k") == second.id


async def test_a_key_outlives_its_message(bench: Bench) -> None:
    queue = await bench.queue()
    first = await bench.send(queue, b"x", key="k", ttl_s=1)
    await bench.advance(2)
    await bench.store.sweep(10)
    assert await bench.store.accept([bench.draft(queue, b"x", key="k")]) == [
        Accepted(first, duplicate=True)
    ]


async def test_of_senders_that_race_with_one_key_one_is_first(bench: Bench) -> None:
    queue = await bench.queue()
    drafts = [bench.draft(queue, b"x", key="k") for _ in range(8)]
    answers = await asyncio.gather(*[bench.store.accept([draft]) for draft in drafts])
    firsts = [answer for (answer,) in answers if not answer.duplicate]
    assert len(firsts) == 1
    assert {answer.id for (answer,) in answers} == {firsts[0].id}
    assert await bench.counts() == {"waiting": 1}


async def test_an_answer_given_means_that_it_outlives_the_process(bench: Bench) -> None:
    queue = await bench.queue()
    sent = await asyncio.gather(*[bench.send(queue) for _ in range(20)])
    await bench.reopen()
    assert {m.id for m in await bench.due((await bench.take()).id)} == set(sent)
