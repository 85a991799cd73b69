"""Beside ours: pgqueuer whose jobs post with aiohttp, and a bare pyreqwest loop without a store."""

import asyncio
import hmac
import logging
import time
from base64 import b64encode
from datetime import timedelta
from pathlib import Path

import aiohttp
import asyncpg
import uvloop
from pgqueuer import QueueManager
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode
from pyreqwest.client import ClientBuilder
from pyreqwest.http import Url

from bench.databases import database, durability, note
from bench.hook_roads import FILL_SHARE, SECRET, WARM, body
from bench.hook_sink import HookSink
from bench.shape import NO_STORE, Taken
from postroad.transports.webhook.signing import Signer

TASK = "hook"
ENQUEUE = 500
IN_FLIGHT = 64
WAITING = "select count(*) from pgqueuer"
DONE = "select count(*) from pgqueuer_log where status = 'successful'"


class Peer:
    """One connection, one session, as their documentations do it."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", url: str) -> None:
        self.queries = Queries(AsyncpgDriver(connection))
        self.sent = 0
        self._url = url
        self._key = SECRET.encode()

    async def enqueue(self, count: int) -> None:
        """The next ones, in one call."""
        first, self.sent = self.sent, self.sent + count
        bodies = [body(n) for n in range(first, first + count)]
        await self.queries.enqueue([TASK] * count, list(bodies), [0] * count)

    async def drain(self, batch: int, in_flight: int) -> None:
        """Post all that waits; pgqueuer records each job in its log."""
        manager = QueueManager(self.queries)
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector) as session:

            @manager.entrypoint(TASK)
            async def post(job: Job) -> None:
                payload = job.payload or b""
                timestamp = str(int(time.time()))
                signed = f"{job.id}.{timestamp}.".encode() + payload
                signature = b64encode(hmac.digest(self._key, signed, "sha256")).decode()
                headers = {
                    "content-type": "application/json",
                    "webhook-id": str(job.id),
                    "webhook-timestamp": timestamp,
                    "webhook-signature": f"v1,{signature}",
                }
                async with session.post(self._url, data=payload, headers=headers) as answer:
                    await answer.read()
                    answer.raise_for_status()

            await manager.run(
                dequeue_timeout=timedelta(seconds=1),
                batch_size=batch,
                mode=QueueExecutionMode.drain,
            )


def pgqueuer(
    _folder: Path, seconds: float, *, server: str, batch: int, in_flight: int
) -> list[Taken]:
    """Fill for a while, then drain."""
    logging.disable(logging.CRITICAL)
    return [uvloop.run(_pgqueuer(seconds, server, batch, in_flight))]


async def _pgqueuer(seconds: float, server: str, batch: int, in_flight: int) -> Taken:
    sink = HookSink()
    async with database(server) as dsn:
        connection = await asyncpg.connect(dsn)
        peer = Peer(connection, sink.url())
        await peer.queries.install()
        await peer.enqueue(WARM)
        end_s = time.perf_counter() + seconds * FILL_SHARE
        while time.perf_counter() < end_s:
            await peer.enqueue(ENQUEUE)
        await connection.execute("analyze pgqueuer")
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        await peer.drain(batch, in_flight)
        took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        timed = peer.sent
        other = await asyncpg.connect(dsn)
        await note(other, "pgqueuer", "pgqueuer_log")
        again = Peer(await asyncpg.connect(dsn), sink.url())
        again.sent = peer.sent
        await again.enqueue(1)
        await again.drain(batch, in_flight)
        promised = await durability(other)
        waiting, done = await other.fetchval(WAITING), await other.fetchval(DONE)
        await other.close()
    got = await asyncio.to_thread(sink.end)
    counts = (again.sent, done - waiting, got.distinct)
    return Taken("pgqueuer-aiohttp", *counts, timed, took_s, cpu_s, *promised)


def bare(_folder: Path, seconds: float, *, in_flight: int) -> list[Taken]:
    """Pyreqwest alone: sign, post, read; nothing is stored."""
    return [uvloop.run(_bare(seconds, in_flight))]


async def _bare(seconds: float, in_flight: int) -> Taken:
    sink, sent = HookSink(), 0
    client = ClientBuilder().no_proxy().follow_redirects(enable=False).build()
    url, signer, limit = Url(sink.url()), Signer([SECRET]), timedelta(seconds=15)
    end_s = 0.0

    async def loop() -> None:
        nonlocal sent
        while time.perf_counter() < end_s:
            number, sent = sent, sent + 1
            text, timestamp = body(number), int(time.time())
            headers = {
                "content-type": "application/json",
                "webhook-id": str(number),
                "webhook-timestamp": str(timestamp),
                "webhook-signature": signer.sign(str(number), timestamp, text),
            }
            asking = client.post(url).headers(headers).body_bytes(text).timeout(limit)
            answer = await asking.build().send()
            await answer.bytes()

    end_s = time.perf_counter() + seconds / 10
    await asyncio.gather(*[loop() for _ in range(in_flight)])  # warm
    warm, start_s, start_cpu_s = sent, time.perf_counter(), time.process_time()
    end_s = start_s + seconds * (1 - FILL_SHARE)
    await asyncio.gather(*[loop() for _ in range(in_flight)])
    took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    got = await asyncio.to_thread(sink.end)
    return Taken("bare-pyreqwest", sent, sent, got.distinct, sent - warm, took_s, cpu_s, NO_STORE)
