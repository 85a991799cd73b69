"""What somebody else puts into our lines: dead at once when it cannot be read or sent on, and the
road goes on."""

import asyncio
from pathlib import Path
from typing import Final

from aiormq import spec
from aiormq.abc import AbstractChannel
from msgspec.structs import replace

from postroad import Message, Postroad
from postroad.model.ids import to_number
from postroad.stores.rabbitmq.envelope import BODY_BYTES_MAX, Envelope, pack
from postroad.stores.rabbitmq.topology.topology import Topology
from postroad.stores.rabbitmq.wire.field_table import Value
from postroad.stores.rabbitmq.wire.properties import Properties
from tests.rabbitmq.outside import PERSISTENT, channel_to, until
from tests.rabbitmq.roads import a_road, running
from tests.rabbitmq.test_envelope import PLAIN
from tests.rabbitmq.wires import linked

OURS: Final = Topology()
TOO_LARGE: Final = b"x" * (BODY_BYTES_MAX + 7)
LATER_MS: Final = 4_000_000_000_000


def a_served_road(dsn: str, folder: Path) -> tuple[Postroad, asyncio.Event]:
    """With one handler; the event says that it was called."""
    road = a_road(dsn, folder)
    called = asyncio.Event()

    @road.handler("resize")
    async def resize(_: Message[int]) -> None:
        called.set()

    return road, called


async def put(channel: AbstractChannel, exchange: str, key: str, envelope: Envelope) -> None:
    """As Postroad would have packed it."""
    headers = {**pack(envelope)}
    properties = spec.Basic.Properties(delivery_mode=2, headers=headers)  # type: ignore[arg-type]
    await channel.basic_publish(
        envelope.body, exchange=exchange, routing_key=key, properties=properties
    )


async def until_dead(road: Postroad, count: int) -> list[tuple[str, str]]:
    """The queue and the error of each, when so many are dead."""

    async def all_dead() -> bool:
        return len((await road.dead.list()).messages) >= count

    assert await until(all_dead, 60.0)
    return [(dead.queue, dead.error) for dead in (await road.dead.list()).messages]


async def test_what_is_too_large_to_be_sent_on_is_dead_cut_and_nothing_else_stands_still(
    dsn: str, tmp_path: Path
) -> None:
    road, called = a_served_road(dsn, tmp_path)
    async with road, channel_to(dsn) as channel, running(road):
        await road.send("resize", 1)
        await called.wait()  # its line is there
        called.clear()
        large = replace(PLAIN, shard=0, body=TOO_LARGE, due_ms=LATER_MS)
        await put(channel, OURS.instant, "handler.resize", large)
        for exchange, key in (
            (OURS.instant, "handler.resize"),
            (OURS.instant, "shard.0"),
            (OURS.lost_exchange, ""),
            (OURS.dead_exchange, ""),
        ):
            await channel.basic_publish(
                TOO_LARGE, exchange=exchange, routing_key=key, properties=PERSISTENT
            )
        dead = await until_dead(road, 5)
        assert {queue for queue, _ in dead} == {"unreadable"}
        why = f"unreadable: its body has {len(TOO_LARGE)} bytes, of which {BODY_BYTES_MAX} fit"
        assert {error for _, error in dead} == {why}
        for one in (await road.dead.list()).messages:
            letter = await road.store.dead_letter(None, to_number(one.id))
            assert letter is not None
            assert len(letter.body) == BODY_BYTES_MAX
        await road.send("resize", 2)
        await called.wait()


IN_MILLISECONDS: Final = b"T" + (1_767_225_600_000).to_bytes(8)
"""As a header's value: a time in the year 57971."""


def damaged() -> list[bytes]:
    """Properties of messages that Postroad would not have packed so."""
    fine: dict[str, Value] = {**pack(replace(PLAIN, shard=0))}
    late = Properties(headers={"when": 0}).pack()
    garbled = Properties(headers={**fine, "queue": "QQ"}).pack()
    return [
        Properties(headers={**fine, "shard": -99}).pack(),
        Properties(headers={**fine, "id": "x" * 100_000}).pack(),
        late.replace(b"l" + bytes(8), IN_MILLISECONDS),
        garbled.replace(b"QQ", b"\xff\xfe"),
    ]


async def test_what_is_damaged_is_dead_and_nothing_else_stands_still(
    dsn: str, tmp_path: Path
) -> None:
    road, called = a_served_road(dsn, tmp_path)
    async with road, linked(dsn) as link, running(road):
        await road.send("resize", 1)
        await called.wait()
        called.clear()
        channel = await link.channel(confirms=True)
        for properties in damaged():
            confirm = channel.publish(OURS.instant, "handler.resize", b"1", properties)
            assert confirm is not None
            await confirm
        dead = await until_dead(road, 4)
        assert {queue for queue, _ in dead} == {"unreadable"}
        await road.send("resize", 2)
        await called.wait()
