"""What has nowhere to go is sent on or buried, and told; what nobody can read is buried."""

import aiormq
from aiormq.abc import AbstractChannel
from msgspec.structs import replace

from postroad.stores.rabbitmq.dead_letters import UNREADABLE
from postroad.stores.rabbitmq.delays import delay_queues
from postroad.stores.rabbitmq.envelope import Envelope, pack
from postroad.stores.rabbitmq.topology.topology import Topology
from tests.rabbitmq.crews import Worker
from tests.rabbitmq.outside import Tap, channel_to, declare, depth, until
from tests.rabbitmq.test_envelope import PLAIN as ENVELOPE

TOPOLOGY = Topology("caught")
GONE = "handler.gone"


async def publish(channel: AbstractChannel, exchange: str, key: str, envelope: Envelope) -> None:
    headers = pack(envelope)
    properties = aiormq.spec.Basic.Properties(delivery_mode=2, headers=headers)  # type: ignore[arg-type]
    await channel.basic_publish(
        envelope.body, exchange=exchange, routing_key=key, properties=properties
    )


def delayed(target: str) -> str:
    return delay_queues.key(delay_queues.walk(delay_queues.UNIT_MS), target)


async def test_a_deleted_line_is_made_again_and_gets_what_was_for_it(dsn: str) -> None:
    async with channel_to(dsn) as channel:
        await declare(channel, TOPOLOGY.plan())
        for number in range(40):
            envelope = replace(ENVELOPE, id=number, body=b"%d" % number)
            await publish(channel, TOPOLOGY.delay, delayed(GONE), envelope)

        async def all_lost() -> bool:
            return await depth(channel, TOPOLOGY.lost) == 40

        assert await until(all_lost)
        worker = await Worker("ada", TOPOLOGY).start(dsn)
        try:

            async def all_sent_on() -> bool:
                return worker.catch_all.counts.sent_on == 40

            assert await until(all_sent_on)
            assert worker.catch_all.counts.last == delayed(GONE)
            assert await until(lambda: _is_empty(channel))
        finally:
            await worker.close()
        tap = Tap()
        await tap.open(channel, TOPOLOGY.name(GONE))
        assert await until(lambda: _has(tap, {b"%d" % number for number in range(40)}))


async def _is_empty(channel: AbstractChannel) -> bool:
    return await depth(channel, TOPOLOGY.lost) == 0


async def _has(tap: Tap, bodies: set[bytes]) -> bool:
    return set(tap.bodies) == bodies


async def test_what_is_for_no_line_of_ours_is_buried_as_unroutable(dsn: str) -> None:
    async with channel_to(dsn) as channel:
        await declare(channel, TOPOLOGY.plan())
        worker = await Worker("ada", TOPOLOGY).start(dsn)
        try:
            await publish(channel, TOPOLOGY.delay, delayed("shard.99"), ENVELOPE)
            (letter,) = await _buried(worker, 1)
            assert (letter.id, letter.body) == (ENVELOPE.id, ENVELOPE.body)
            assert letter.reason == "rejected"
            assert "unroutable" in letter.last_error
            assert "shard.99" in letter.last_error

            async def counted() -> bool:
                return worker.catch_all.counts.dead == 1

            assert await until(counted)
        finally:
            await worker.close()


async def test_what_a_stranger_puts_into_our_lines_is_buried_and_takes_nobody_along(
    dsn: str,
) -> None:
    async with channel_to(dsn) as channel:
        await declare(channel, TOPOLOGY.plan())
        worker = await Worker("ada", TOPOLOGY).start(dsn)
        try:
            for exchange, body in (
                (TOPOLOGY.lost_exchange, b"one"),
                (TOPOLOGY.dead_exchange, b"2"),
            ):
                await channel.basic_publish(body, exchange=exchange)
            letter = replace(ENVELOPE, reason="exhausted", died_at_ms=1)
            await publish(channel, TOPOLOGY.dead_exchange, "", letter)
            letters = await _buried(worker, 3)
        finally:
            await worker.close()
    strange = [one for one in letters if one.queue == UNREADABLE]
    assert {one.body for one in strange} == {b"one", b"2"}
    assert all("not sent by Postroad" in one.last_error for one in strange)
    assert letter in letters


async def test_what_the_broker_gave_up_itself_is_a_crash_loop(dsn: str) -> None:
    async with channel_to(dsn) as channel:
        await declare(channel, TOPOLOGY.plan())
        await declare(channel, TOPOLOGY.consumed(GONE))
        await publish(channel, TOPOLOGY.instant, GONE, ENVELOPE)

        async def given_up() -> bool:
            got = await channel.basic_get(TOPOLOGY.name(GONE))
            if got.delivery_tag:
                await channel.basic_reject(got.delivery_tag, requeue=True)
            return await depth(channel, TOPOLOGY.dead) == 1

        assert await until(given_up)
        worker = await Worker("ada", TOPOLOGY).start(dsn)
        try:
            (letter,) = await _buried(worker, 1)
        finally:
            await worker.close()
    assert letter.reason == "crash_loop"
    assert letter.id == ENVELOPE.id
    assert letter.hop > ENVELOPE.hop
    assert "came back too often" in letter.last_error


async def _buried(worker: Worker, count: int) -> list[Envelope]:
    async def enough() -> bool:
        return len(worker.buried) >= count

    assert await until(enough)
    return worker.buried
