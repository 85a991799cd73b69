"""Lists of messages: by queue, state, level, time; in both orders; page after page."""

from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random
from typing import Unpack

import pytest
from msgspec import Struct

from postroad.engine.drafting import Send
from postroad.model.block import BlockKind
from postroad.model.decide import Move
from postroad.model.entities import Queue
from postroad.model.ids import made_at_ms, to_number
from postroad.model.keyring import KeyRing
from postroad.model.listing import ListedMessage, MessagePage
from postroad.model.states import State
from postroad.verbs import message_search as verbs
from postroad.verbs.messages import ListWhere, Messages
from postroad.verbs.receipts import Receipt
from tests.contract.bench import Bench


class Sent(Struct):
    """What is known to a test about a message that it sent."""

    queue: str
    state: State = State.waiting
    level: int = 0
    error: str = ""


def lists(bench: Bench, *in_flight: int) -> Messages:
    return Messages(bench.store, lambda: in_flight, KeyRing((), bytes), _send_nothing)


async def _send_nothing(_sends: Sequence[Send]) -> list[Receipt]:
    raise AssertionError("a list sends nothing")


async def walk(
    bench: Bench, limit: int = 7, order: str = "newest", **where: Unpack[ListWhere]
) -> list[ListedMessage]:
    """All pages of a list, one after the other."""
    found: list[ListedMessage] = []
    after = ""
    for _ in range(200):
        page = await lists(bench).list(limit=limit, order=order, after=after, **where)
        assert len(page.messages) <= limit
        found += page.messages
        after = page.after
        if not after:
            return found
    raise AssertionError("this list does not end")


async def ids(
    bench: Bench, limit: int = 7, order: str = "newest", **where: Unpack[ListWhere]
) -> list[int]:
    return [to_number(one.id) for one in await walk(bench, limit, order, **where)]


async def busy_road(bench: Bench, seed: int, count: int = 120) -> dict[int, Sent]:
    """Messages of three queues in every state, some of them in one record, some by themselves."""
    rng = Random(seed)
    queues = [await bench.queue(name) for name in ("hook/a", "hook/b", "bank")]
    sent: dict[int, Sent] = {}
    for turn in range(4):
        for _ in range(count // 4):
            queue = rng.choice(queues)
            how = {"after_s": rng.choice((0, 0, 0, 0.03, 600))}
            sent[await bench.send(queue, **how)] = Sent(queue.name)  # type: ignore[arg-type]
            if rng.random() < 0.3:
                await bench.advance(rng.choice((0.001, 0.07, 5)))
        await bench.advance(1)
        lanes = (await bench.claim()).lanes
        due = [message for lane in lanes for message in await bench.due(lane.id)]
        rng.shuffle(due)
        results = []
        for message in due[: len(due) * 3 // 4]:
            one = sent[message.id]
            move = rng.choice((Move.deliver, Move.deliver, Move.deliver, Move.climb, Move.die))
            if turn == 3 and move is Move.deliver and rng.random() < 0.2:
                move = Move.doubt
            one.error = "" if move is Move.deliver else f"Fault {rng.choice('XY')}"
            results.append(bench.result(message, move, error=one.error, after_s=rng.choice((0, 9))))
            one.level += move is Move.climb
            states = {Move.deliver: State.delivered, Move.die: State.dead}
            one.state = {**states, Move.doubt: State.uncertain}.get(move, State.waiting)
        while results:
            size = rng.choice((1, 3, 40))
            await bench.record(results[:size])
            results = results[size:]
        for lane in lanes:
            await bench.release(lane)
    return sent


def those(sent: dict[int, Sent], order: str = "newest", **wanted: object) -> list[int]:
    """The ids of messages with these fields, in order."""
    found = [n for n, one in sent.items() if all(getattr(one, k) == v for k, v in wanted.items())]
    return sorted(found, reverse=order == "newest")


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_every_message_is_listed_once_and_in_order(bench: Bench, order: str) -> None:
    sent = await busy_road(bench, 1)
    assert await ids(bench, order=order) == those(sent, order)
    for queue in ("hook/a", "bank"):
        assert await ids(bench, order=order, queue=queue) == those(sent, order, queue=queue)
    prefixed = [n for n in those(sent, order) if sent[n].queue.startswith("hook/")]
    assert await ids(bench, order=order, queue="hook/*") == prefixed
    assert await ids(bench, order=order, prefix="hook/") == prefixed


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_states_levels_and_errors_narrow_a_list(bench: Bench, order: str) -> None:
    sent = await busy_road(bench, 2)
    seen = {to_number(one.id): one for one in await walk(bench, 50)}
    for number, one in sent.items():
        listed = seen[number]
        assert (listed.queue, listed.state, listed.level) == (one.queue, one.state, one.level)
    for state in (State.waiting, State.uncertain, State.delivered, State.dead):
        assert await ids(bench, order=order, state=state) == those(sent, order, state=state)
        mine = those(sent, order, state=state, queue="hook/a")
        assert await ids(bench, order=order, state=state, queue="hook/a") == mine
    assert await ids(bench, order=order, level=1) == those(sent, order, level=1)
    assert await ids(bench, order=order, text="fault x") == [
        n for n in those(sent, order) if seen[n].error == "Fault X"
    ]


async def test_a_time_range_is_of_acceptance(bench: Bench) -> None:
    sent = await busy_road(bench, 3)
    times = sorted(made_at_ms(n) for n in sent)
    since_ms, until_ms = times[len(times) // 4], times[len(times) * 3 // 4]
    since, until = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (since_ms, until_ms))
    within = [n for n in those(sent) if since_ms <= made_at_ms(n) < until_ms]
    assert await ids(bench, since=since, until=until) == within
    of_bank = [n for n in within if sent[n].queue == "bank"]
    assert await ids(bench, since=since, until=until, queue="bank") == of_bank


async def test_where_a_filter_names_too_many_queues_it_walks_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = await busy_road(bench, 4)
    monkeypatch.setattr(verbs, "QUEUES_MAX", 1)
    prefixed = [n for n in those(sent) if sent[n].queue.startswith("hook/")]
    assert await ids(bench, prefix="hook/") == prefixed
    assert await ids(bench, prefix="hook/", order="oldest") == prefixed[::-1]
    page = await lists(bench).list(prefix="hook/")
    assert page.unindexed == ("queue",)
    assert (await lists(bench).list(queue="bank")).unindexed == ()


async def test_a_search_that_no_index_serves_stops_and_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "LOOKED_AT_MAX", 20)
    monkeypatch.setattr(verbs, "COMPARED", 10)
    sent = await busy_road(bench, 5)
    page = await lists(bench).list(text="nowhere", limit=5)
    assert page.messages == ()
    assert page.unindexed == ("text",)
    assert 20 <= page.looked_at < len(sent)
    assert page.after
    assert page.searched_until_ms is not None
    assert await ids(bench, text="nowhere") == []
    wanted = await ids(bench, 100, text="Fault")
    assert wanted
    assert await ids(bench, 1, text="Fault") == wanted


async def held(bench: Bench, queue: Queue) -> MessagePage:
    return await lists(bench).list(state="held", queue=queue.name)


async def test_held_messages_are_found_by_what_holds_them(bench: Bench) -> None:
    shop, bank = await bench.queue(), await bench.queue("bank")
    number = await bench.send(shop)
    await bench.send(bank)
    assert (await held(bench, shop)).messages == ()
    await bench.store.pause_queue(shop.id, paused=True)
    (one,) = (await held(bench, shop)).messages
    assert (to_number(one.id), one.state, one.because) == (number, State.held, "paused")
    assert await ids(bench, state="waiting", queue="shop") == []
    await bench.store.pause_queue(shop.id, paused=False)
    lanes = {lane.key.server: lane for lane in (await bench.claim()).lanes}
    await bench.block(shop, lanes["shop"], 60, BlockKind.quota)
    (one,) = (await held(bench, shop)).messages
    assert one.because == "quota: quota for 60 s"
    await bench.advance(61)
    assert (await held(bench, shop)).messages == ()
    assert len(await ids(bench, state="waiting")) == 2


async def test_tenants_see_only_theirs(bench: Bench) -> None:
    ours = await bench.send(await bench.queue())
    theirs = await bench.send(await bench.queue(server="acme", tenant="acme"))
    assert await ids(bench) == [ours]
    assert await ids(bench, tenant="acme", queue="shop") == [theirs]
    assert await ids(bench, tenant=None) == sorted([ours, theirs], reverse=True)


async def test_what_is_sent_now_is_listed_for_its_tenant_and_queue_only(bench: Bench) -> None:
    """In flight are the messages of everybody whom this process serves."""
    ours = [await bench.send(await bench.queue(name)) for name in ("shop", "bank")]
    theirs = await bench.send(await bench.queue(server="acme", tenant="acme"))
    held = lists(bench, *ours, theirs)

    async def found(queue: str | None = None, tenant: str | None = "default") -> list[int]:
        page = await held.list(state="sending", order="oldest", queue=queue, tenant=tenant)
        return [to_number(one.id) for one in page.messages]

    assert await found() == ours
    assert await found(tenant="acme") == [theirs]
    assert await found("shop") == ours[:1]
    assert await found("ba*") == ours[1:]
    assert await found("shop", None) == [ours[0], theirs]


async def test_a_finished_message_is_not_said_to_be_sent_now(bench: Bench) -> None:
    """It finished after this process told what it sends."""
    number = await bench.send(await bench.queue())
    message = await bench.only((await bench.take()).id)
    await bench.record([bench.result(message, Move.deliver)])
    (one,) = (await lists(bench, number).list(state="delivered")).messages
    assert to_number(one.id) == number


async def test_ordered_messages_are_listed_by_their_key(bench: Bench) -> None:
    queue = await bench.queue()
    mine = [await bench.send(queue, order_key="k1") for _ in range(3)]
    await bench.send(queue, order_key="k2")
    await bench.send(queue)
    assert await ids(bench, order_key="k1") == mine[::-1]
    assert await ids(bench, order_key="k1", queue="shop", order="oldest") == mine


async def test_a_burst_is_listed_in_order_though_its_ids_run_ahead(bench: Bench) -> None:
    queue = await bench.queue()
    burst = [bench.draft(queue) for _ in range(1_500)]
    await bench.store.accept(burst[::2])
    await bench.advance(0.001)
    await bench.send(queue)
    await bench.store.accept(burst[1::2])
    every = await ids(bench, 400, queue="shop")
    assert len(every) == 1_501
    assert every == sorted(every, reverse=True)
    assert await ids(bench, 400, queue="shop", order="oldest") == every[::-1]


async def test_many_messages_for_later_do_not_hide_the_others(bench: Bench) -> None:
    queue = await bench.queue()
    await bench.store.accept([bench.draft(queue, after_s=60) for _ in range(2_300)])
    early = [await bench.send(queue) for _ in range(3)]
    await bench.advance(120)
    late = [await bench.send(queue) for _ in range(3)]
    first = await lists(bench).list(limit=5, queue="shop")
    assert [to_number(one.id) for one in first.messages] == [*late[::-1], *early[:0:-1]]
    assert len(await ids(bench, 500, queue="shop")) == 2_306
    assert len(await ids(bench, 500, queue="shop", order="oldest")) == 2_306
