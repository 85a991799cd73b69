"""Peer: aio-pika, confirmed and mandatory publishes of persistent messages, so many awaiting."""

import asyncio
import time
from pathlib import Path

import aio_pika
import msgspec
import uvloop

from bench.brokers import QUORUM, WARM, body, durability, emptied, fresh_queue
from bench.shape import Taken


def run(_folder: Path, seconds: float, *, server: str, awaiting: int) -> list[Taken]:
    """Publish for a while."""
    return uvloop.run(_run(seconds, server, awaiting))


async def _run(seconds: float, server: str, awaiting: int) -> list[Taken]:
    sent = 0
    async with fresh_queue(server) as queue:
        connection = await aio_pika.connect(server)
        channel = await connection.channel(publisher_confirms=True)

        async def one() -> None:
            nonlocal sent
            number, sent = sent, sent + 1
            message = aio_pika.Message(
                msgspec.json.encode(body(number)), delivery_mode=aio_pika.DeliveryMode.PERSISTENT
            )
            await channel.default_exchange.publish(message, queue, mandatory=True)

        async def caller(end_s: float) -> None:
            while time.perf_counter() < end_s:
                await one()

        for _ in range(WARM):
            await one()
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        await asyncio.gather(*[caller(start_s + seconds * 0.5) for _ in range(awaiting)])
        took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        await connection.close()
        promised = await durability(server, queue, QUORUM)
        found = await emptied(server, queue, sent)
    numbers = {msgspec.json.decode(each.body)["n"] for each in found}
    counts = (sent, len(found), len(numbers))
    name = f"aio-pika-{awaiting}-awaiting"
    return [Taken(name, *counts, sent - WARM, took_s, cpu_s, promised)]
