"""Links that are kept up, and a watch over what they carry."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from pamqp import commands

from postroad.model.errors import AccessRefused, BrokerLost
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock, system_chance
from postroad.stores.rabbitmq.consuming import stall_detector
from postroad.stores.rabbitmq.consuming.stall_detector import ConsumedQueue, StallDetector
from postroad.stores.rabbitmq.wire.address import read_address
from postroad.stores.rabbitmq.wire.channel import AmqpChannel
from postroad.stores.rabbitmq.wire.connection import AmqpConnection
from postroad.stores.rabbitmq.wire.properties import Delivery
from postroad.stores.rabbitmq.wire.supervisor import ConnectionState, Prepare, Supervisor
from tests.rabbitmq.wires import declare, linked, put, until
from tests.servers.proxy import Proxy
from tests.servers.rabbitmq import PrivateRabbit


def supervisor_of(dsn: str, prepare: Prepare) -> Supervisor:
    log = make_log("critical")
    return Supervisor(read_address(dsn), "test", prepare, SystemClock(), system_chance(), log)


class Reader:
    """Consumes a line on whatever link there is; acks unless told to hold."""

    def __init__(self, line: str = "q", prefetch: int = 10, *, single: bool = False) -> None:
        self.broker_queue, self.prefetch, self.single = line, prefetch, single
        self.bodies: list[bytes] = []
        self.held: list[tuple[AmqpChannel, Delivery]] = []
        self.hold = False
        self.watched: list[ConsumedQueue] = []
        self.undone = 0

    async def up(self, link: AmqpConnection) -> None:
        channel = await link.channel()
        await declare(channel, "q")
        await declare(channel, "single", x_single_active_consumer=True)

        def take(message: Delivery) -> None:
            self.bodies.append(message.body)
            if self.hold:
                self.held.append((channel, message))
            else:
                channel.ack(message.tag)

        await channel.consume(self.broker_queue, take, prefetch=self.prefetch)
        self.watched = [ConsumedQueue(self.broker_queue, channel, self.single)]

    async def down(self) -> None:
        self.undone += 1
        self.watched = []


@asynccontextmanager
async def kept(dsn: str, reader: Reader) -> AsyncIterator[Supervisor]:
    """A supervised link that the reader uses."""
    supervisor = supervisor_of(dsn, reader.up)
    supervisor.undo = reader.down
    await supervisor.open()
    try:
        yield supervisor
    finally:
        await supervisor.close()
        assert supervisor.state is ConnectionState.CLOSED


async def feed(dsn: str, queue: str, *bodies: bytes) -> None:
    """Publish over a link of its own."""
    async with linked(dsn) as link:
        await put(await link.channel(confirms=True), queue, *bodies)


async def rebuilt(supervisor: Supervisor, after: int) -> None:
    """Until a newer link is ready."""
    await until(lambda: supervisor.generation > after and supervisor.state is ConnectionState.READY)


def fault_cut(proxy: Proxy, _broker: PrivateRabbit) -> None:
    """The network goes."""
    proxy.cut()


def fault_operator(_proxy: Proxy, broker: PrivateRabbit) -> None:
    """An operator closes connections."""
    broker.close_connections()


def fault_restart(_proxy: Proxy, broker: PrivateRabbit) -> None:
    """The broker is killed, and started again."""
    broker.write_out()
    broker.kill()
    broker.start()


@pytest.mark.parametrize(
    "fault", [fault_cut, fault_operator, pytest.param(fault_restart, marks=pytest.mark.wide)]
)
async def test_consumes_again_after(
    broker: PrivateRabbit, dsn: str, fault: Callable[[Proxy, PrivateRabbit], None]
) -> None:
    with Proxy(dsn) as proxy:
        reader = Reader()
        reader.hold = True
        async with kept(proxy.dsn(), reader) as supervisor:
            await feed(dsn, "q", b"held")
            await until(lambda: reader.held)
            generation = supervisor.generation
            await asyncio.to_thread(fault, proxy, broker)
            await rebuilt(supervisor, generation)
            assert reader.undone >= 1
            channel, message = reader.held[0]
            channel.ack(message.tag)  # of a link that is gone: dropped in silence
            reader.hold = False
            await feed(dsn, "q", b"new")
            await until(lambda: reader.bodies.count(b"held") >= 2 and b"new" in reader.bodies)


async def test_what_is_wrong_at_first_is_raised_by_open_and_awaited_by_start(dsn: str) -> None:
    wrong = supervisor_of(dsn.replace("road:", "road:x"), Reader().up)
    with pytest.raises(AccessRefused):
        await wrong.open()
    assert wrong.state is ConnectionState.AWAY
    with Proxy(dsn) as proxy:
        proxy.down()
        patient = supervisor_of(proxy.dsn(), Reader().up)
        patient.start()
        await until(lambda: patient.generation >= 2)
        assert patient.connection is None
        proxy.up()
        assert (await patient.ready()).lost is None
        await patient.close()
        with pytest.raises(BrokerLost):
            await patient.ready()


async def test_a_link_that_cannot_be_prepared_is_made_anew(dsn: str) -> None:
    tries: list[AmqpConnection] = []

    async def prepare(link: AmqpConnection) -> None:
        tries.append(link)
        if len(tries) == 1:
            await (await link.channel()).get("missing")
        if len(tries) == 2:
            supervisor.rebuild("what was made on it went at once")

    supervisor = supervisor_of(dsn, prepare)
    supervisor.start()
    await supervisor.ready()
    assert len(tries) == 3
    assert [each.lost is None for each in tries] == [False, False, True]
    await supervisor.close()


async def watching_over(supervisor: Supervisor, reader: Reader) -> str:
    """Look until something is stuck."""
    link = await supervisor.ready()
    watch = StallDetector(link, lambda: reader.watched)
    while not (stuck := await watch.find_stalled()):
        await asyncio.sleep(0.05)
    return stuck


@pytest.mark.parametrize("line", ["q", "single"])
async def test_a_consumer_that_looks_alive_and_gets_nothing_is_found(dsn: str, line: str) -> None:
    reader = Reader(line, prefetch=1, single=line == "single")
    reader.hold = True
    async with kept(dsn, reader) as supervisor:
        await feed(dsn, line, b"first", b"second")
        await until(lambda: reader.held)
        watch = StallDetector(await supervisor.ready(), lambda: reader.watched)
        assert [await watch.find_stalled() for _ in range(3)] == ["", "", ""]  # it holds one: busy
        reader.held[0][0].held = 0  # as if its ack had been lost on the way
        assert await watching_over(supervisor, reader) == line


async def test_a_consumer_that_the_broker_does_not_know_is_found(dsn: str) -> None:
    reader = Reader()
    async with kept(dsn, reader) as supervisor:
        await reader.watched[0].channel.cancel("road.1.1")
        assert await watching_over(supervisor, reader) == "q"


async def test_the_watch_has_its_link_made_anew(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall_detector, "WATCH_S", 0.05)
    reader = Reader()
    async with kept(dsn, reader) as supervisor:
        link = await supervisor.ready()
        watch = StallDetector(link, lambda: reader.watched)
        running = asyncio.create_task(watch.run(SystemClock(), supervisor.rebuild))
        await reader.watched[0].channel.cancel("road.1.1")
        await running  # which ends with its link
        await rebuilt(supervisor, 1)
        assert "gets none" in str(supervisor.why)
        await feed(dsn, "q", b"x")
        await until(lambda: reader.bodies)


async def test_the_watch_leaves_those_alone_that_have_no_fault(dsn: str) -> None:
    active, passive = (Reader("single", 2, single=True) for _ in range(2))
    busy, idle = Reader("q", 2), Reader("q", 2)
    active.hold = busy.hold = True
    async with kept(dsn, active) as first, kept(dsn, passive) as second, kept(dsn, busy) as third:
        await feed(dsn, "single", *[b"x"] * 5)
        await feed(dsn, "q", *[b"y"] * 5)
        await until(lambda: len(active.held) == 2 and len(busy.held) == 2)
        pairs = ((first, active), (second, passive), (third, busy))
        watches = [
            StallDetector(await each.ready(), partial(getattr, reader, "watched"))
            for each, reader in pairs
        ]
        for _ in range(3):
            assert [await each.find_stalled() for each in watches] == ["", "", ""]
        assert passive.bodies == []
        async with kept(dsn, idle):
            await until(lambda: len(idle.bodies) == 3)


async def test_a_line_that_is_deleted_meanwhile_does_not_end_the_watch(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stall_detector, "WATCH_S", 0.05)
    reader = Reader()
    async with kept(dsn, reader) as supervisor:
        link = await supervisor.ready()
        async with linked(dsn) as other:
            await (await other.channel()).call(commands.Queue.Delete(queue="q"))
        watch = StallDetector(link, lambda: reader.watched)
        running = asyncio.create_task(watch.run(SystemClock(), supervisor.rebuild))
        await asyncio.sleep(0.3)
        assert not running.done()
        link.abort()
        await running
