"""Lines that a broker left half-made when it was killed."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from postroad.ports.clock import Clock, SystemClock
from postroad.stores.rabbitmq import broker as broker_module
from postroad.stores.rabbitmq.topology import creating
from postroad.stores.rabbitmq.topology.creating import create
from postroad.stores.rabbitmq.topology.declaring import declare
from postroad.stores.rabbitmq.topology.topology import Plan, Topology
from postroad.stores.rabbitmq.wire.address import BrokerAddress, read_address
from postroad.stores.rabbitmq.wire.properties import Properties
from tests.rabbitmq.roads import a_road
from tests.rabbitmq.wires import drained, linked, put, until
from tests.servers.rabbitmq import PrivateRabbit

Within = Callable[[Coroutine[Any, Any, Any]], Any]
TOPOLOGY = Topology()
TARGET = "handler.resize"
PLAN = TOPOLOGY.consumed(TARGET)
(LINE,) = PLAN.broker_queues
MARK = f"{TOPOLOGY.made}.{TARGET}"
AS_SHIPPED_S = creating.SAFE_S
SILENT_S = 1.5
FIND = """
{{ok, Q_}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"{vhost}">>, queue, <<"{line}">>)),
"""
HALVE = f"""{FIND}
{{{{N_, _}}}} = Id_ = amqqueue:get_pid(Q_),
ok = ra:force_delete_server(quorum_queues, Id_),
Machine_ = {{{{module, rabbit_fifo, #{{{{name => N_, queue_resource => amqqueue:get_name(Q_)}}}}}}}},
ra:start_server(quorum_queues, N_, Id_, Machine_, [Id_])
"""
"""What a kill leaves behind that comes between the start of its Raft server and its first election:
a follower without a leader, which starts no election of its own."""


async def prepare(dsn: str) -> None:
    async with linked(dsn) as link:
        await declare(await link.channel(), TOPOLOGY.plan())
        await declare(await link.channel(), PLAN)


def halve(broker: PrivateRabbit, dsn: str) -> None:
    assert tell(broker, dsn, HALVE) == "ok"


def mend(broker: PrivateRabbit, dsn: str) -> None:
    """It gets its leader after all."""
    assert tell(broker, dsn, f"{FIND} ra:trigger_election(amqqueue:get_pid(Q_))") == "ok"


def tell(broker: PrivateRabbit, dsn: str, words: str) -> str:
    vhost = unquote(urlsplit(dsn).path[1:])
    return broker.eval(words.format(vhost=vhost, line=LINE.name).replace("\n", " "))


async def publish_to_all(dsn: str) -> None:
    async with linked(dsn) as link:
        for line in TOPOLOGY.plan().broker_queues:
            await put(await link.channel(confirms=True), line.name, b"x")


async def takes_messages(dsn: str, patience_s: float = 60.0) -> bool:
    async with linked(dsn) as link:
        channel = await link.channel(confirms=True)
        confirm = channel.publish("", LINE.name, b"x", Properties(message_id="m"))
        assert confirm is not None
        done, _ = await asyncio.wait([confirm], timeout=patience_s)
        if not done:
            link.abort()
        return bool(done)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that answers later is made again, which harms none that nobody has used."""
    monkeypatch.setattr(creating, "ANSWER_S", SILENT_S)


def test_a_line_that_was_left_half_made_is_made_again(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    within(prepare(dsn))
    halve(broker, dsn)

    async def story() -> None:
        await prepare(dsn)  # to declare it again is of no use
        assert not await takes_messages(dsn, SILENT_S)
        two = [create(read_address(dsn), PLAN, MARK, SystemClock()) for _ in range(2)]
        await asyncio.gather(*two)
        assert await takes_messages(dsn)

    within(story())


def test_a_line_that_was_in_use_is_never_deleted(
    broker: PrivateRabbit, dsn: str, within: Within
) -> None:
    within(prepare(dsn))
    within(create(read_address(dsn), PLAN, MARK, SystemClock()))
    halve(broker, dsn)  # as when its nodes are away

    async def story() -> None:
        await create(read_address(dsn), PLAN, MARK, SystemClock())
        assert not await takes_messages(dsn, SILENT_S)

    within(story())
    mend(broker, dsn)  # or its vhost takes 10 s to go


def test_what_lies_in_a_line_without_a_mark_stays(dsn: str, within: Within) -> None:
    async def story() -> None:
        await prepare(dsn)
        assert await takes_messages(dsn)
        await create(read_address(dsn), PLAN, MARK, SystemClock())
        async with linked(dsn) as link:
            assert len(await drained(await link.channel(), LINE.name)) == 1

    within(story())


@pytest.mark.wide
def test_what_is_confirmed_by_new_lines_outlives_a_kill_of_the_broker(
    own_broker: PrivateRabbit, monkeypatch: pytest.MonkeyPatch, within: Within
) -> None:
    """Without the wait the last line was empty, and without a leader, after one kill of three."""
    monkeypatch.setattr(creating, "SAFE_S", AS_SHIPPED_S)
    dsn = own_broker.create_vhost()
    within(create(read_address(dsn), TOPOLOGY.plan(), TOPOLOGY.made, SystemClock()))
    within(publish_to_all(dsn))
    own_broker.kill()
    own_broker.start()
    shards = [TOPOLOGY.name(target) for target in TOPOLOGY.shard_targets()]
    within(until(lambda: all(own_broker.depth(dsn, line) == 1 for line in shards)))
    own_broker.delete_vhost(dsn)


async def test_many_that_send_to_a_new_handler_make_its_line_once(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    async def counted(address: BrokerAddress, plan: Plan, mark: str, clock: Clock) -> None:
        made.append(mark)
        await create(address, plan, mark, clock)

    monkeypatch.setattr(broker_module, "create", counted)
    road = a_road(dsn, tmp_path)

    @road.handler("resize")
    async def resize(_message: object) -> None: ...

    async with road:
        await asyncio.gather(*(road.send("resize", {"n": n}) for n in range(200)))
    assert made == [TOPOLOGY.made, MARK]
