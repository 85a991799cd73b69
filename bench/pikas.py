"""Peer: aio-pika, confirmed and mandatory publishes of persistent messages, so many awaiting."""

import asyncio
import time
from pathlib import Path

import aio_pika
import msgspec
import uvloop

from bench.brokers import QUORUM, WARM, body, durability, emptied, fresh_queue
from bench.shape import Taken


def run(_folder: Path, seconds: float, *, server: str, awaiting: str, channels: int) -> list[Taken]:
    """Publish with each number of callers awaiting in turn, a share of the time each, over so many
    channels of one connection."""
    callers = [int(each) for each in awaiting.split(",")]
    return uvloop.run(_run(seconds / len(callers), server, callers, channels))


async def _run(each_s: float, server: str, callers: list[int], channels: int) -> list[Taken]:
    return [await _one(each_s, server, awaiting, channels) for awaiting in callers]


async def _one(seconds: float, server: str, awaiting: int, channels: int) -> Taken:
    sent = 0
    async with fresh_queue(server) as queue:
        connection = await aio_pika.connect(server)
        exchanges = [
            (await connection.channel(publisher_confirms=True)).default_exchange
            for _ in range(channels)
        ]

        async def one() -> None:
            nonlocal sent
            number, sent = sent, sent + 1
            message = aio_pika.Message(
                msgspec.json.encode(body(number)), delivery_mode=aio_pika.DeliveryMode.PERSISTENT
            )
            await exchanges[number % channels].publish(message, queue, mandatory=True)

        async def caller(end_s: float) -> None:
            while time.perf_counter() < end_s:
                await one()

        for _ in range(WARM):
            await one()
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        await asyncio.gather(*[caller(start_s + seconds) for _ in range(awaiting)])
        took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        await connection.close()
        promised = await durability(server, queue, QUORUM)
        found = await emptied(server, queue, sent)
    numbers = {msgspec.json.decode(each.body)["n"] for each in found}
    counts = (sent, len(found), len(numbers))
    name = f"aio-pika-{awaiting}-awaiting"
    return Taken(name, *counts, sent - WARM, took_s, cpu_s, promised)
