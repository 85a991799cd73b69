"""Deletions that were cut off come to their end, and what is held is trimmed exactly."""

import asyncio
from collections.abc import Sequence

import pytest

from postroad import Postroad
from postroad.model.endpoint_life import HOUR_MS, WIDTH, EndpointHour
from postroad.model.errors import StoreUnavailable, UnknownEndpoint
from postroad.model.ids import to_number
from postroad.model.outcome import Kind
from postroad.observe.endpoint_figures import EndpointFigures
from postroad.observe.figures import PLACE
from postroad.ports.events import EventStore
from postroad.verbs.endpoint_watch import EndpointWatch

HOOK = "http://127.0.0.1:9/hook"


async def cut_off(road: Postroad, number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete an endpoint up to where its messages would be cancelled."""

    async def fails(_queue: str, *, tenant: str) -> None:
        raise StoreUnavailable(tenant)

    with monkeypatch.context() as patch:
        patch.setattr(road.endpoints, "_cancel_all", fails)
        with pytest.raises(StoreUnavailable):
            await road.endpoints.delete(number)


async def gone(road: Postroad, number: str) -> None:
    while True:
        try:
            await road.endpoints.get(number)
        except UnknownEndpoint:
            return
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("runs", [True, False])
async def test_a_deletion_that_was_cut_off_is_ended_by_who_runs(
    road: Postroad, monkeypatch: pytest.MonkeyPatch, *, runs: bool
) -> None:
    made = await road.endpoints.create(HOOK)
    waiting = await road.publish("order.paid", 1)
    await road.pause(made.queue)
    running = asyncio.create_task(road.run()) if runs else None
    await asyncio.sleep(0)
    await cut_off(road, made.id, monkeypatch)
    assert (await road.publish("order.paid", 2)).messages == ()
    running = running or asyncio.create_task(road.run())
    await gone(road, made.id)
    assert (await road.explain(waiting.messages[0])).state == "cancelled"
    road.stop()
    await running


async def test_one_that_is_deleted_twice_at_once_is_gone_and_then_unknown(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    waiting = await road.publish("order.paid", 1)
    twice = (road.endpoints.delete(made.id), road.endpoints.delete(made.id))
    said = await asyncio.gather(*twice, return_exceptions=True)
    assert None in said
    assert all(each is None or isinstance(each, UnknownEndpoint) for each in said)
    assert (await road.explain(waiting.messages[0])).state == "cancelled"
    with pytest.raises(UnknownEndpoint):
        await road.endpoints.delete(made.id)


async def held(road: Postroad, count: int, tenant: str = "default") -> tuple[str, int, list[int]]:
    """A disabled endpoint that holds so many messages: its id, its queue, and theirs."""
    made = await road.endpoints.create(HOOK, tenant=tenant)
    await road.endpoints.disable(made.id, tenant=tenant)
    sent = [(await road.publish("order.paid", n, tenant=tenant)).messages[0] for n in range(count)]
    queue = await road.store.find_queue(tenant, made.queue)
    assert queue is not None
    return made.id, queue.id, [to_number(each) for each in sent]


async def test_two_processes_that_trim_at_once_leave_as_many_as_may_be_held(road: Postroad) -> None:
    _, queue, sent = await held(road, 8)
    store = road.store
    assert isinstance(store, EventStore)
    (entry,) = await store.endpoints_of([queue])
    looks = [await store.endpoint_excess(queue, 0, 5, 100) for _ in range(2)]
    assert looks[0] == looks[1] == [(number, False) for number in sent[:3]]
    found = [number for number, _ in looks[0]]
    both = [await store.endpoint_bury(entry.row.id, found, "excess_held") for _ in looks]
    assert both == [3, 0]
    assert await store.endpoint_excess(queue, 0, 5, 100) == []
    assert (await store.endpoint_backlog(queue))[0] == 5
    assert await store.endpoint_excess(queue, store.clock.now_ms() + 1, 5, 2) == [
        (number, True) for number in sent[3:5]
    ]


async def test_nothing_is_trimmed_of_an_endpoint_that_was_enabled_meanwhile(road: Postroad) -> None:
    number, queue, _ = await held(road, 3)
    store = road.store
    assert isinstance(store, EventStore)
    (entry,) = await store.endpoints_of([queue])
    found = [each for each, _ in await store.endpoint_excess(queue, 0, 1, 100)]
    await road.endpoints.enable(number)
    assert await store.endpoint_bury(entry.row.id, found, "excess_held") == 0
    assert (await road.dead.list()).messages == ()


async def test_messages_of_another_queue_are_not_trimmed(road: Postroad) -> None:
    _, queue, _ = await held(road, 1)
    _, _, theirs = await held(road, 1, "other")
    store = road.store
    assert isinstance(store, EventStore)
    (entry,) = await store.endpoints_of([queue])
    assert await store.endpoint_bury(entry.row.id, theirs, "excess_held") == 0


async def test_however_much_is_trimmed_it_is_looked_for_once(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, queue, sent = await held(road, 30)
    await road.endpoints.set_rules(hold_max=3)
    monkeypatch.setattr("postroad.verbs.endpoint_watch.TRIM_SLICE", 5)
    store, looks = road.store, 0
    assert isinstance(store, EventStore)
    look = store.endpoint_excess

    async def counted(*about: int) -> list[tuple[int, bool]]:
        nonlocal looks
        looks += 1
        return await look(*about)

    monkeypatch.setattr(store, "endpoint_excess", counted)
    watch: EndpointWatch = road.endpoints.watch
    await watch._look(store)
    assert looks == 1
    assert (await store.endpoint_backlog(queue))[0] == 3
    dead = await road.dead.list(queue=f"endpoint:{number}")
    assert sorted(to_number(one.id) for one in dead.messages) == sent[:27]


class Counted(EndpointFigures):
    """Figures of one try that was delivered."""

    def __init__(self, queue: int, now_ms: int) -> None:
        super().__init__()
        counts = [0] * WIDTH
        counts[PLACE[Kind.delivered]] = 1
        hour_ms = now_ms // HOUR_MS * HOUR_MS
        self._hours = [EndpointHour(queue, hour_ms, tuple(counts), True, 0, 0, "")]

    def taken(self) -> list[EndpointHour]:
        hours, self._hours = self._hours, []
        return hours


@pytest.mark.parametrize("fails", [False, True])
async def test_figures_that_are_being_written_when_the_road_stops_are_counted_once(
    road: Postroad, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    made = await road.endpoints.create(HOOK)
    store, written, slow = road.store, asyncio.Event(), asyncio.Event()
    assert isinstance(store, EventStore)
    queue = await store.find_queue("default", made.queue)
    assert queue is not None
    write, failures = store.endpoint_count, [StoreUnavailable("away")] if fails else []

    async def slowly(hours: Sequence[EndpointHour]) -> None:
        if not failures:
            await write(hours)
        written.set()
        await slow.wait()
        if failures:
            raise failures.pop()

    monkeypatch.setattr(store, "endpoint_count", slowly)
    figures, watch = Counted(queue.id, store.clock.now_ms()), road.endpoints.watch
    running = asyncio.create_task(watch.run(figures))
    await written.wait()
    running.cancel()
    await asyncio.wait([running])
    ending = asyncio.create_task(watch.end(figures))
    await asyncio.sleep(0)
    slow.set()
    await ending
    if fails:
        await watch.end(figures)
    assert (await road.endpoints.stats(made.id)).total.tries == {"delivered": 1}
