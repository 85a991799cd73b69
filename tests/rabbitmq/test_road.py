"""A road on RabbitMQ as a program uses it: from send to delivered, dead, replayed."""

import asyncio
from pathlib import Path

import pytest

from postroad import Message, Postroad
from postroad.model.endpoint import endpoint_id
from postroad.model.entities import Policy
from postroad.model.errors import NotOnRabbitMQ
from postroad.model.ids import to_text
from postroad.model.ladder import Exponential
from postroad.model.ticks import Missed, Schedule, Tick, Timetabled
from postroad.stores.rabbitmq.consuming import serving
from postroad.stores.rabbitmq.store import RabbitStore
from tests.rabbitmq.roads import Endpoint, a_road, running, until, until_state
from tests.servers import free_port

QUICK = Policy(ladder=Exponential(retries=2, base_ms=250), timeout_ms=10_000)


async def webhook(road: Postroad, url: str, policy: Policy = QUICK) -> None:
    await road._sending.open_webhook("default", url, policy, "")


async def test_what_is_sent_is_handled_once(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)
    got: list[object] = []

    @road.handler("resize")
    async def resize(message: Message[dict[str, int]]) -> None:
        got.append(message.body)

    async with road:
        receipts = [await road.send("resize", {"n": n}) for n in range(20)]
        await road.run(until_idle=True)
        assert sorted(body["n"] for body in got) == list(range(20))  # type: ignore[index]
        assert (await road.explain(receipts[0].id)).state == "delivered"


async def test_a_long_line_is_begun_with_before_all_of_it_is_here(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "CATCH_UP_S", 3_600.0)
    road = a_road(dsn, tmp_path, "&prefetch=10")
    first = asyncio.Event()
    free = asyncio.Event()

    @road.handler("slow")
    async def slow(_: Message[int]) -> None:
        first.set()
        await free.wait()

    async with road:
        await road.send_many([("slow", number) for number in range(100)])
        async with running(road):
            await first.wait()  # 10 came, and 90 lie ready in the broker
            free.set()


async def test_a_message_fails_twice_and_is_delivered_through_the_delay_queues(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    async with Endpoint() as endpoint, road:
        await webhook(road, endpoint.url)
        endpoint.statuses = [500, 500]
        async with running(road):
            receipt = await road.send(endpoint.url, {"id": 7})
            await until_state(road, receipt.id, "delivered")
        assert endpoint.got == 3
        told = await road.explain(receipt.id)
        assert [attempt.outcome for attempt in told.tries] == ["failed", "failed", "delivered"]


async def test_an_exhausted_message_is_dead_and_delivered_when_it_is_replayed(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    async with Endpoint() as endpoint, road:
        await webhook(road, endpoint.url)
        endpoint.statuses = [500] * 3
        async with running(road):
            receipt = await road.send(endpoint.url, {"id": 7})
            await until_state(road, receipt.id, "dead")
            page = await road.dead.list(queue=endpoint.url)
            assert [dead.id for dead in page.messages] == [receipt.id]
            assert page.messages[0].reason == "exhausted"
            assert await road.dead.replay(ids=[receipt.id], mode="reset") == 1
            await until_state(road, receipt.id, "delivered")
        assert endpoint.got == 4
        assert (await road.dead.list()).messages == ()


async def test_a_paused_queue_holds_its_messages_and_goes_on_when_it_is_resumed(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    async with Endpoint() as endpoint, road:
        await webhook(road, endpoint.url)
        await road.pause(endpoint.url)
        receipt = await road.send(endpoint.url, {"id": 7})
        await road.run(until_idle=True)
        assert endpoint.got == 0
        told = await road.explain(receipt.id)
        assert told.state == "held"
        await road.resume(endpoint.url)
        async with running(road):
            await until_state(road, receipt.id, "delivered")
        assert endpoint.got == 1


async def test_a_quota_answer_blocks_the_queue_until_it_is_unblocked(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    async with Endpoint() as endpoint, road:
        await webhook(road, endpoint.url)
        endpoint.statuses = [429]
        async with running(road):
            receipt = await road.send(endpoint.url, {"id": 7})
            await until_state(road, receipt.id, "held")
            assert endpoint.got == 1
            assert (await road.explain(receipt.id)).level == 0
            await road.unblock(endpoint.url)
            await until_state(road, receipt.id, "delivered")
        assert endpoint.got == 2


async def test_a_block_and_an_open_circuit_survive_a_restart(dsn: str, tmp_path: Path) -> None:
    """Nothing is tried before their time; then what was parked comes back by itself."""
    async with Endpoint() as throttled:
        port = free_port()
        away = f"http://127.0.0.1:{port}/hook"
        first = a_road(dsn, tmp_path)
        async with first:
            await webhook(first, throttled.url)
            await webhook(first, away)
            throttled.statuses = [429]
            quota = await first.send(throttled.url, {"id": 1})
            async with running(first):
                await until_state(first, quota.id, "held")
                missed = [await first.send(away, {"id": n}) for n in range(5)]

                async def opened() -> bool:
                    return (await first.inspect.overview()).open_circuits == 1

                await until(opened)
        second = a_road(dsn, tmp_path)
        async with second, running(second):
            await until_state(second, quota.id, "held")
            async with Endpoint(port):
                for receipt in missed:
                    await until_state(second, receipt.id, "delivered")
                    assert (await second.explain(receipt.id)).level == 0
            assert throttled.got == 1


async def test_a_restart_with_messages_in_the_broker_loses_nothing(
    dsn: str, tmp_path: Path
) -> None:
    async with Endpoint() as endpoint:
        first = a_road(dsn, tmp_path)
        async with first:
            await webhook(first, endpoint.url)
            endpoint.statuses = [500]
            receipts = [await first.send(endpoint.url, {"id": n}) for n in range(10)]
            later = await first.send(endpoint.url, {"id": 99}, delay=1.0)
            await first.run(until_idle=True)
        second = a_road(dsn, tmp_path)
        async with second, asyncio.timeout(60):
            async with running(second):
                for receipt in [*receipts, later]:
                    await until_state(second, receipt.id, "delivered")
            assert endpoint.got == 12

            async def empty() -> bool:
                return (await second.store.counts())["waiting"] == 0

            await until(empty)


async def test_what_is_handed_over_says_so_and_arrives(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)
    got: list[str] = []

    @road.handler("resize")
    async def resize(message: Message[dict[str, int]]) -> None:
        got.append(message.id)

    async with road:
        receipt = await road.send("resize", {"n": 1}, confirm=False)
        assert receipt.handed_over
        assert not (await road.send("resize", {"n": 2})).handed_over
        await road.run(until_idle=True)
    assert receipt.id in got
    assert len(got) == 2


async def test_what_rabbitmq_cannot_do_is_refused_by_name(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)

    @road.handler("resize")
    async def resize(message: Message[dict[str, int]]) -> None: ...

    async with road:
        receipt = await road.send("resize", {})
        refused = [
            road.send("resize", {}, key="k"),
            road.send("resize", {}, order_key="o"),
            road.send("resize", {}, replace="k", delay=5),
            road.send("resize", {}, unique_for=60),
            road.cancel(receipt.id),
            road.cancel_all("resize"),
            road.send_in(object(), "resize", {}),
        ]
        for wish in refused:
            with pytest.raises(NotOnRabbitMQ) as said:
                await wish
            assert "SQLite" in str(said.value)


async def test_events_on_rabbitmq_are_refused_by_name(dsn: str, tmp_path: Path) -> None:
    async with a_road(dsn, tmp_path) as road:
        endpoint = endpoint_id(1)
        for wish in (
            road.endpoints.create("http://127.0.0.1:9/hook"),
            road.endpoints.create(pull=True),
            road.endpoints.feed(endpoint),
            road.endpoints.list(),
            road.publish("order.paid", {}),
            road.publish_in(object(), "order.paid", {}),
            road.events.list(),
            road.event_types.set("order.paid"),
            road.replays.start("missed", endpoint=endpoint),
        ):
            with pytest.raises(NotOnRabbitMQ) as said:
                await wish
            assert "PostgreSQL" in str(said.value)


async def test_an_ordered_handler_is_refused_by_name(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)

    @road.handler("resize", ordered=True)
    async def resize(message: Message[dict[str, int]]) -> None: ...

    with pytest.raises(NotOnRabbitMQ, match="ordered"):
        async with road:
            pass


async def test_the_message_of_a_tick_goes_through_the_outbox(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)
    got: list[str] = []

    @road.handler("tidy")
    async def tidy(message: Message[dict[str, int]]) -> None:
        got.append(message.id)

    async with road:
        store = road.store
        assert isinstance(store, RabbitStore)
        drafted = await road._sending.draft_tick("tidy", {})
        plan = Schedule("tidy", "* * * * *", "UTC")
        assert await store.open_schedule(Timetabled(plan, "tidy", Missed.latest)) is not None
        now_ms = store.clock.now_ms() + 60_000
        for _ in range(2):  # the second one decides nothing
            await store.tick(plan, [Tick(now_ms, drafted)], now_ms)
        await road.run(until_idle=True)
    assert got == [to_text(drafted.id)]


async def test_an_uncertain_message_is_settled_as_unsent_and_tried_again(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    tries = 0

    @road.handler("pay", at_most_once=True, timeout=1)
    async def pay(_message: Message[dict[str, int]]) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            await asyncio.sleep(30)

    async with road:
        receipt = await road.send("pay", {})
        async with running(road):
            await until_state(road, receipt.id, "uncertain")
            await road.settle(receipt.id, "unsent")
            await until_state(road, receipt.id, "delivered")
    assert tries == 2


async def test_another_number_of_shards_takes_over_what_the_old_lines_hold(
    dsn: str, tmp_path: Path
) -> None:
    async with Endpoint() as endpoint:
        got: list[str] = []

        def with_handler(more: str) -> Postroad:
            road = a_road(dsn, tmp_path, more)

            @road.handler("resize")
            async def resize(message: Message[dict[str, int]]) -> None:
                got.append(message.id)

            return road

        async with with_handler("") as old:
            await webhook(old, endpoint.url)
            there = await old.send(endpoint.url, {"id": 1})
            later = await old.send(endpoint.url, {"id": 2}, delay=1.0)
            handled = await old.send("resize", {"id": 3})
        async with with_handler("&shards=2") as new, running(new):
            for receipt in (there, later, handled):
                await until_state(new, receipt.id, "delivered")
        assert (endpoint.got, got) == (2, [handled.id])
