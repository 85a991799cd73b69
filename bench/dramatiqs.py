"""Peer: a Dramatiq worker on a quorum queue that is full when it begins."""

import asyncio
import secrets
import time
from pathlib import Path
from typing import Any

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from pamqp import commands

from bench.brokers import SETTLE_S, Letter, body, durability, fill, left, linked
from bench.ledger import Ledger
from bench.shape import Taken
from postroad.stores.rabbitmq.wire.properties import Properties

A_SECOND = 1_000
LOOK_S = 0.05
PATIENCE_S = 60.0


class QuorumBroker(RabbitmqBroker):
    """Its own queues are classic: with these it promises what the others do."""

    def _build_queue_arguments(self, queue_name: str) -> dict[str, Any]:
        usual: dict[str, Any] = super()._build_queue_arguments(queue_name)  # type: ignore[no-untyped-call]
        self.arguments = {**usual, "x-queue-type": "quorum"}
        return self.arguments


def run(_folder: Path, seconds: float, *, server: str, threads: int, prefetch: int) -> list[Taken]:
    """Drain what it gets through in about that time."""
    count = max(200, int(seconds * A_SECOND))
    ledger = Ledger(count)
    queue = f"bench{secrets.token_hex(6)}"
    broker = QuorumBroker(url=server, confirm_delivery=True)
    dramatiq.set_broker(broker)

    @dramatiq.actor(queue_name=queue)
    def no_op(message: dict[str, Any]) -> None:
        ledger.note(message["n"])

    broker.declare_queue(queue, ensure=True)
    messages = [no_op.message(body(number)) for number in range(count)]
    letters = [Letter(Properties(message_id=str(m.message_id)), m.encode()) for m in messages]
    asyncio.run(fill(server, queue, letters))
    start_cpu_s = time.process_time()
    worker = dramatiq.Worker(broker, worker_threads=threads, worker_timeout=100)
    worker.queue_prefetch = prefetch
    worker.start()
    end_s = time.perf_counter() + PATIENCE_S
    while ledger.arrived < count and time.perf_counter() < end_s:
        time.sleep(LOOK_S)
    time.sleep(SETTLE_S)
    worker.stop()
    cpu_s = time.process_time() - start_cpu_s
    broker.close()
    promised = asyncio.run(durability(server, queue, broker.arguments))
    recorded = count - asyncio.run(left(server, queue))
    asyncio.run(_delete(server, queue))
    return [Taken("dramatiq", count, recorded, ledger.once, count, ledger.seconds, cpu_s, promised)]


async def _delete(server: str, queue: str) -> None:
    async with linked(server) as link:
        channel = await link.channel()
        for name in (queue, f"{queue}.DQ", f"{queue}.XQ"):
            await channel.call(commands.Queue.Delete(queue=name))
