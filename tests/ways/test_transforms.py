"""Transformations of bodies: by name, once for all endpoints, and what becomes of those that do not
work."""

import asyncio
import threading
import time
from typing import Any

import pytest

from postroad import Exponential, Postroad
from postroad.model.errors import BadInput
from postroad.transports.webhook.transforms import TAKES_S, THREADS
from tests.ways.servers import Stand
from tests.ways.test_access import held

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


async def test_a_transformation_that_a_process_does_not_know_holds_the_queue(
    road: Postroad, stand: Stand
) -> None:
    made = await road.endpoints.create(stand.url, transform="elsewhere")
    told = await road.publish("a", {})
    assert "no transformation 'elsewhere'" in await held(road, made.queue)
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
