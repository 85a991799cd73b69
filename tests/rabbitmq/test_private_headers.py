"""Secret headers go through the broker sealed, and reach the receiver in clear."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiormq
import apsw
import pytest

from postroad import Reject
from postroad.model.ids import to_number, to_text
from postroad.model.keyring import new_key
from postroad.stores.rabbitmq.topology.topology import Topology
from tests.rabbitmq.outside import channel_to
from tests.rabbitmq.roads import a_road, running, until, until_state

SPOILT = '{"authorization":"\\u0001'
GIVEN = {"authorization": "Bearer hush", "x-plain": "seen"}


def test_secret_headers_are_sealed_in_the_broker_and_beside_it(
    dsn: str, tmp_path: Path, within: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead letter has the headers that its copy carried through the broker."""
    monkeypatch.setenv("POSTROAD_KEYS", new_key("k1", os.urandom))
    got: list[dict[str, str]] = []

    async def story() -> None:
        road = a_road(dsn, tmp_path, "&shards=1")

        @road.handler("inbox")
        async def inbox(message: Any) -> None:
            got.append(message.headers)
            if len(got) == 1:
                raise Reject("no")

        async with road, running(road):
            number = (await road.send("inbox", 1, headers=GIVEN)).id
            await until_state(road, number, "dead")
            file = apsw.Connection(str(tmp_path / "state.db"))
            rows: list[Any] = file.execute("select headers from dead").fetchall()
            file.close()
            assert b"seen" in rows[0][0]
            assert b"hush" not in rows[0][0]
            assert (await road.dead.show(number)).headers == {**GIVEN, "authorization": "…"}
            await road.dead.replay(ids=[number])
            await until_state(road, number, "delivered")
        assert got == [GIVEN, GIVEN]

    within(story())


def test_a_worker_with_a_state_store_of_its_own_opens_what_others_sent(
    dsn: str, tmp_path: Path, within: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same queue has another number there; so it has after a state store was lost."""
    monkeypatch.setenv("POSTROAD_KEYS", new_key("k1", os.urandom))
    got: list[dict[str, str]] = []
    (tmp_path / "sender").mkdir()

    async def story() -> None:
        sender = a_road(dsn, tmp_path / "sender", "&shards=1")
        for name in ("one", "two", "inbox"):
            sender.handler(name)(print)
        async with sender:
            number = (await sender.send("inbox", 1, headers=GIVEN)).id
        road = a_road(dsn, tmp_path, "&shards=1")

        @road.handler("inbox")
        async def inbox(message: Any) -> None:
            got.append(message.headers)

        async with road, running(road):
            await until_state(road, number, "delivered")
        assert got == [GIVEN]

    within(story())


def test_a_strangers_headers_break_no_worker(
    dsn: str, tmp_path: Path, within: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROAD_KEYS", new_key("k1", os.urandom))
    got: list[int] = []

    async def story() -> None:
        road = a_road(dsn, tmp_path, "&shards=1")

        @road.handler("inbox")
        async def inbox(message: Any) -> None:
            got.append(message.body)

        async with road, running(road):
            first = await road.send("inbox", 1)
            await until_state(road, first.id, "delivered")
            strange = to_text(to_number(first.id) + 1)
            table: dict[str, Any] = {"postroad": 2, "id": strange, "queue": "inbox"}
            table["headers"] = SPOILT
            async with channel_to(dsn) as channel:
                await channel.basic_publish(
                    b"3",
                    exchange=Topology("postroad", 1).instant,
                    routing_key="handler.inbox",
                    properties=aiormq.spec.Basic.Properties(delivery_mode=2, headers=table),
                )
            last = await road.send("inbox", 2)
            await until_state(road, last.id, "delivered")

            async def tried() -> bool:
                known = await road.store.message_facts("default", to_number(strange))
                return known is not None and bool((await road.explain(strange)).tries)

            await until(tried)
        assert {1, 2} <= set(got)

    within(story())
