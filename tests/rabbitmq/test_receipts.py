"""A receipt means that the broker has the message, whichever door it was sent through."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from pamqp import commands

from postroad import Message, Postroad, PostroadError, Reject
from postroad import sync as blocking
from postroad.api.app import Application
from postroad.api.context import Context
from postroad.api.in_process import ask
from postroad.engine.drafting import Send
from postroad.model.errors import BrokerBlocked, BrokerLost, QueueFull, Unroutable
from postroad.model.tokens import EVERY_TENANT
from postroad.remote.api_request import ApiRequest
from postroad.stores.rabbitmq import broker as broker_module
from postroad.stores.rabbitmq.delays import delay_queues
from postroad.stores.rabbitmq.store import RabbitStore
from tests.rabbitmq.roads import a_road, running, until, until_state
from tests.rabbitmq.test_sending import line
from tests.rabbitmq.wires import linked
from tests.servers.rabbitmq import PrivateRabbit

WAIT_S = 0.5
"""Instead of 10 s: how long a send waits for a broker that is away or blocked."""
QUEUE = "small"
Door = Callable[[int], Awaitable[list[str]]]
"""Sends a number; answers the ids that it was promised, or raises."""


class Refused(Exception):
    """What the HTTP API answers instead of an id."""


class Doors:
    """A road on a broker, its HTTP API, and a blocking road beside it."""

    def __init__(self, road: Postroad, app: Any, token: str, beside: blocking.Postroad) -> None:
        self.road = road
        self._app = app
        self._headers = {"authorization": f"Bearer {token}"}
        self._beside = beside
        self.beside = beside._target
        self.all: dict[str, Door] = {
            "send": self._send,
            "send for later": self._later,
            "send_many": self._many,
            "send_each": self._each,
            "POST /v1/messages": self._post,
            "POST /v1/messages:batch": self._batch,
            "postroad.sync": self._blocking,
        }

    async def knock(self) -> dict[str, object]:
        """What each door says: the kind of its refusal, or "promised"."""
        return {name: await self.outcome(name) for name in self.all}

    async def outcome(self, name: str) -> object:
        """What one says."""
        try:
            assert await self.all[name](1)
        except PostroadError as error:
            return type(error)
        except Refused as error:
            return str(error)
        return "promised"

    async def _send(self, body: int) -> list[str]:
        return [(await self.road.send(QUEUE, body)).id]

    async def _later(self, body: int) -> list[str]:
        return [(await self.road.send(QUEUE, body, delay=0.05)).id]

    async def _many(self, body: int) -> list[str]:
        return [receipt.id for receipt in await self.road.send_many([(QUEUE, body)])]

    async def _each(self, body: int) -> list[str]:
        (answer,) = await self.road.send_each([Send(QUEUE, body)])
        if isinstance(answer, PostroadError):
            raise answer
        return [answer.id]

    async def _post(self, body: int) -> list[str]:
        return [(await self._ask("/v1/messages", {"queue": QUEUE, "body": body}))["id"]]

    async def _batch(self, body: int) -> list[str]:
        told = await self._ask("/v1/messages:batch", {"queue": QUEUE, "body": body})
        if "id" not in told or not told["id"]:
            raise Refused(told["problem"]["type"].rpartition(":")[2])
        return [told["id"]]

    async def _ask(self, path: str, sent: object) -> Any:
        asked = ApiRequest("POST", path, {}, msgspec.json.encode(sent) + b"\n", self._headers)
        answer = await ask(self._app, asked)
        told = msgspec.json.decode(answer.content.splitlines()[0])
        if answer.status >= 300:
            assert answer.status == 503
            raise Refused(told["type"].rpartition(":")[2])
        return told

    async def _blocking(self, body: int) -> list[str]:
        return [(await asyncio.to_thread(self._beside.send, QUEUE, body)).id]


def impatient(road: Postroad) -> None:
    store = road.store
    assert isinstance(store, RabbitStore)
    store.broker.publisher._wait_s = WAIT_S


@asynccontextmanager
async def doors_to(dsn: str, beside: str, folder: Path) -> AsyncIterator[tuple[Doors, list[int]]]:
    """All doors, open; and what arrives by the road."""
    road = a_road(dsn, folder)
    impatient(road)
    got: list[int] = []
    tried: set[str] = set()

    @road.handler(QUEUE, retries=1)
    async def small(message: Message[int]) -> None:
        got.append(message.body)

    @road.handler("picky")
    async def picky(message: Message[int]) -> None:
        got.append(message.body)
        if message.id not in tried:
            tried.add(message.id)
            raise Reject("not yet")

    other = blocking.Postroad(f"{beside}?state=sqlite:///{folder / 'beside.db'}")

    @other.handler(QUEUE)
    def take(message: blocking.Message[int]) -> None: ...

    impatient(other._target)
    await asyncio.to_thread(other.__enter__)
    try:
        async with road:
            context = Context(road, road.settings, road.log)
            token = (await road.tokens.make("test", tenant=EVERY_TENANT)).secret
            yield Doors(road, Application(context), token, other), got
    finally:
        await asyncio.to_thread(other.__exit__, None, None, None)


def links(doors: Doors) -> list[bool]:
    """Whether each of the two roads has a link to publish on."""
    stores = [road.store for road in (doors.road, doors.beside)]
    return [
        store.broker.publisher.supervisor.connection is not None
        for store in stores
        if isinstance(store, RabbitStore)
    ]


async def away(doors: Doors) -> None:
    """Until both roads know that the broker is gone."""

    async def gone() -> bool:
        return links(doors) == [False, False]

    await until(gone)


async def back(doors: Doors) -> None:
    """Until both roads have found it again."""

    async def found() -> bool:
        return links(doors) == [True, True]

    await until(found)


async def fill(doors: Doors, broker: PrivateRabbit, *dsns: str) -> None:
    """Until the queue is full, on both roads."""
    limit = '[{<<"max-length">>, 1}, {<<"overflow">>, <<"reject-publish">>}]'
    for dsn in dsns:
        place = f'<<"{urlsplit(dsn).path[1:]}">>, <<"full">>, <<"{line(doors.road, QUEUE)}">>'
        policy = f'{place}, {limit}, 0, <<"queues">>, <<"test">>'
        await asyncio.to_thread(broker.eval, f"rabbit_policy:set({policy})")

    async def refused() -> bool:
        told = [await doors.outcome(name) for name in ("send", "postroad.sync")]
        return told == [QueueFull, QueueFull]

    await until(refused)


async def test_no_door_gives_a_receipt_while_the_broker_is_away(
    own_broker: PrivateRabbit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "WAIT_S", WAIT_S)
    dsn, beside = own_broker.create_vhost(), own_broker.create_vhost()
    async with doors_to(dsn, beside, tmp_path) as (doors, got):
        road = doors.road
        assert set((await doors.knock()).values()) == {"promised"}
        dead = [(await road.send("picky", body)).id for body in (7, 8)]
        async with running(road):
            for each in dead:
                await until_state(road, each, "dead")
        assert sorted(got) == [1] * (len(doors.all) - 1) + [7, 8]
        await asyncio.to_thread(own_broker.write_out)
        await asyncio.to_thread(own_broker.kill)
        try:
            await away(doors)
            assert await doors.knock() == dict.fromkeys(doors.all, BrokerLost) | {
                "POST /v1/messages": "broker-lost",
                "POST /v1/messages:batch": "broker-lost",
            }
            with pytest.raises(BrokerLost):
                await road.send(QUEUE, 1, confirm=False)
            # What the state store has taken is published when the broker is there again.
            assert await road.dead.replay(ids=dead[:1]) == 1
        finally:
            await asyncio.to_thread(own_broker.start)
        await back(doors)
        assert await road.dead.replay(ids=dead[1:]) == 1
        got.clear()
        async with running(road):
            for each in dead:
                await until_state(road, each, "delivered")
        assert sorted(got) == [7, 8]  # and nothing that was refused
    for made in (dsn, beside):
        own_broker.delete_vhost(made)


async def test_no_door_gives_a_receipt_while_the_broker_is_blocked(
    broker: PrivateRabbit, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "WAIT_S", WAIT_S)
    beside = broker.create_vhost()
    async with doors_to(dsn, beside, tmp_path) as (doors, _):
        await doors.knock()
        await asyncio.to_thread(broker.block)
        try:
            for _ in range(2):  # the first has written something, and the next ones cannot
                assert await doors.knock() == dict.fromkeys(doors.all, BrokerBlocked) | {
                    "POST /v1/messages": "broker-blocked",
                    "POST /v1/messages:batch": "broker-blocked",
                }
            with pytest.raises(BrokerBlocked):
                await doors.road.send(QUEUE, 1, confirm=False)
        finally:
            await asyncio.to_thread(broker.unblock)
    broker.delete_vhost(beside)


async def test_no_door_gives_a_receipt_for_a_full_queue(
    broker: PrivateRabbit, dsn: str, tmp_path: Path
) -> None:
    beside = broker.create_vhost()
    async with doors_to(dsn, beside, tmp_path) as (doors, _):
        await fill(doors, broker, dsn, beside)
        assert await doors.knock() == dict.fromkeys(doors.all, QueueFull) | {
            "POST /v1/messages": "queue-full",
            "POST /v1/messages:batch": "queue-full",
        }
        assert (await doors.road.send(QUEUE, 1, confirm=False)).handed_over
    broker.delete_vhost(beside)


async def test_what_cannot_be_routed_is_told_to_who_sends_it(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)
    store = road.store
    assert isinstance(store, RabbitStore)

    @road.handler(QUEUE)
    async def small(_message: Message[int]) -> None: ...

    async with road:
        await road.send(QUEUE, 1, delay=60)
        async with linked(dsn) as link:
            channel = await link.channel()
            for level in range(delay_queues.LEVELS):
                way = (store.topology.name(f"delay.{level}"), store.topology.delay, f"d{level}.#")
                await channel.call(commands.Queue.Unbind(0, *way))
        with pytest.raises(Unroutable):
            await road.send(QUEUE, 1, delay=60)
        with pytest.raises(Unroutable):
            await road.send_many([Send(QUEUE, 1, delay=60)])
        await road.send(QUEUE, 2)
