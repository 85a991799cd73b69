"""Transformations of bodies: by name, once for all endpoints, and what becomes of those that do not
work."""

import asyncio
import threading
import time
from collections import Counter
from typing import Any

import pytest

from postroad import Exponential, Postroad
from postroad.model.errors import BadInput
from postroad.transports.webhook import transforms
from postroad.transports.webhook.shapes import Origin
from postroad.transports.webhook.transforms import (
    TAKES_S,
    THREADS,
    FailedTransform,
    MissingTransform,
    Transforms,
)
from tests.webhook_requests.servers import Stand
from tests.webhook_requests.test_access import held

ONCE = Exponential(retries=0, base_ms=1)


async def test_a_transformation_makes_the_body_once_for_all_endpoints(
    road: Postroad, stand: Stand
) -> None:
    calls: list[str] = []

    @road.transform("slim")
    def slim(kind: str, body: dict[str, Any]) -> dict[str, Any]:
        calls.append(kind)
        return {"only": body["id"]}

    @road.transform("later")
    async def later(kind: str, body: dict[str, Any]) -> list[Any]:
        await asyncio.sleep(0)
        return [kind, body]

    for path, name in (("a", "slim"), ("b", "slim"), ("c", "later"), ("d", "")):
        made = await road.endpoints.create(f"{stand.url}/{path}", transform=name)
        assert made.transform == name
    await road.endpoints.create(f"{stand.url}/e", transform="slim", shape="cloudevents")
    await road.publish("order.paid", {"id": 7, "secret": "x"})
    await road.run(until_idle=True)
    got = {one.path: one.body for one in stand.got}
    assert got["/a"] == got["/b"] == b'{"only":7}'
    assert got["/c"] == b'["order.paid",{"id":7,"secret":"x"}]'
    assert got["/d"] == b'{"id":7,"secret":"x"}'
    assert b'"data":{"only":7}' in got["/e"]
    assert calls[0] == "order.paid"


async def test_endpoints_that_want_it_at_once_wait_for_one_call(
    road: Postroad, stand: Stand
) -> None:
    calls, going = Counter[int](), asyncio.Event()

    @road.transform("slow")
    async def slow(_kind: str, body: dict[str, Any]) -> dict[str, Any]:
        calls[body["id"]] += 1
        await going.wait()
        return body

    for number in range(10):
        await road.endpoints.create(f"{stand.url}/{number}", transform="slow")
    for number in range(3):
        await road.publish("order.paid", {"id": number})
    running = asyncio.create_task(road.run(until_idle=True))
    while len(calls) < 3:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)  # the others come in the meantime, or later: they call nobody
    going.set()
    await running
    assert len(stand.got) == 30
    assert calls == {0: 1, 1: 1, 2: 1}


async def test_who_is_cut_off_while_it_waits_does_not_end_it_for_others() -> None:
    made, going = Transforms(), asyncio.Event()
    calls = 0

    @made.register("slow")
    async def slow(_kind: str, body: Any) -> Any:
        nonlocal calls
        calls += 1
        await going.wait()
        return body

    origin = Origin("evt_1", "order.paid", 0)
    first, second = (asyncio.create_task(made.apply("slow", b"7", origin)) for _ in range(2))
    while not calls:
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    going.set()
    assert await second == b"7"
    assert (calls, first.cancelled()) == (1, True)


async def test_a_server_has_the_transformations_of_its_program(
    road: Postroad, stand: Stand
) -> None:
    theirs = Postroad("sqlite:///unused.db")

    @theirs.transform("slim")
    def slim(_kind: str, _body: dict[str, Any]) -> str:
        return "slim"

    road.registry.adopt(theirs.registry)  # as `postroad up --app` does
    await road.endpoints.create(f"{stand.url}/a", transform="slim")
    await road.publish("order.paid", {})
    await road.run(until_idle=True)
    assert [one.body for one in stand.got] == [b'"slim"']


async def test_who_waits_for_a_thread_is_not_late(road: Postroad, stand: Stand) -> None:
    @road.transform("slow")
    def slow(_kind: str, body: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.3)
        return body

    for number in range(4):
        await road.endpoints.create(f"{stand.url}/{number}", transform="slow")
    assert 30 * 0.3 / THREADS > TAKES_S
    for number in range(30):
        await road.publish("order.paid", {"id": number})
    await road.run(until_idle=True)
    assert len(stand.got) == 120


async def test_a_transformation_that_fails_costs_only_its_message(
    road: Postroad, stand: Stand
) -> None:
    """By an error, by its time or by its size; it is dead with the reason, and can be replayed."""
    ended = threading.Event()

    @road.transform("picky")
    def picky(_kind: str, body: dict[str, Any]) -> Any:
        if body["do"] == "sleep":
            ended.wait(60)
        if body["do"] == "raise":
            raise KeyError("no such field")
        return "x" * (2 << 20) if body["do"] == "grow" else body

    await road.endpoints.create(stand.url, transform="picky", ladder=ONCE)
    words = {"sleep": f"longer than {TAKES_S:g} s", "raise": "KeyError", "grow": "at most 1048576"}
    told = {do: (await road.publish("a", {"do": do})).messages[0] for do in (*words, "pass")}
    await road.run(until_idle=True)
    ended.set()
    assert [one.body for one in stand.got] == [b'{"do":"pass"}']
    for do, said in words.items():
        (one,) = await road.webhooks.attempts(told[do])
        assert (one.outcome, one.fault) == ("failed", "transform")
        assert said in one.error
        assert (await road.explain(told[do])).state == "dead"
    lanes = await road.inspect.lanes()
    assert all(not lane.circuit.strikes for lane in lanes.lanes)


async def test_a_coroutine_that_raises_no_exception_ends_no_process() -> None:
    known = Transforms()

    @known.register("ends")
    async def ends(_kind: str, _body: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(FailedTransform, match="KeyboardInterrupt"):
        await known.apply("ends", b"{}", Origin("msg_1", "order.paid", 0))


async def test_those_that_hang_stop_no_others_until_they_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transforms, "TAKES_S", 0.2)
    monkeypatch.setattr(transforms, "STUCK_MAX", THREADS + 2)
    made, ended = Transforms(), threading.Event()

    @made.register("hangs")
    def hangs(_kind: str, body: Any) -> Any:
        ended.wait(60)
        return body

    @made.register("quick")
    def quick(_kind: str, body: Any) -> Any:
        return body

    origins = iter(Origin(f"evt_{n}", "order.paid", 0) for n in range(1_000))
    for _ in range(THREADS + 1):
        with pytest.raises(FailedTransform, match="longer than"):
            await made.apply("hangs", b"1", next(origins))
    assert await made.apply("quick", b"1", next(origins)) == b"1"
    with pytest.raises(FailedTransform, match="longer than"):
        await made.apply("hangs", b"1", next(origins))
    with pytest.raises(MissingTransform, match="6 transformations hang"):  # its queue is held
        await made.apply("quick", b"1", next(origins))
    ended.set()
    while made._stuck:
        await asyncio.sleep(0.01)
    assert await made.apply("quick", b"1", next(origins)) == b"1"


async def test_a_transformation_that_a_process_does_not_know_holds_the_queue(
    road: Postroad, stand: Stand
) -> None:
    made = await road.endpoints.create(stand.url, transform="elsewhere")
    told = await road.publish("a", {})
    assert "no transformation 'elsewhere'" in await held(road, made.queue)
    said = await road.explain(told.messages[0])
    assert said.because.startswith("setup: this process has no transformation")
    assert "missing on our side" in said.next.why
    assert "quota" not in said.sentence
    assert (await road.endpoints.get(made.id)).health == "healthy"  # it is not its customer's fault
    await road.endpoints.change(made.id, transform="")
    await road.run(until_idle=True)
    assert (await road.explain(told.messages[0])).state == "delivered"


async def test_bad_names_are_refused(road: Postroad, stand: Stand) -> None:
    with pytest.raises(BadInput, match="no name of a transformation"):
        await road.endpoints.create(stand.url, transform="a b")
    with pytest.raises(BadInput, match="no name of a transformation"):
        road.transform("")
    road.transform("twice")(lambda _kind, body: body)
    with pytest.raises(BadInput, match="already"):
        road.transform("twice")
