"""Peer: a Celery worker that acks late, on a quorum queue that is full when it begins."""

import asyncio
import json
import resource
import threading
import time
from pathlib import Path
from typing import Any

from celery import Celery
from celery.worker import state
from kombu.entity import Queue

from bench.brokers import QUORUM, SETTLE_S, Letter, body, durability, fill, fresh_queue, left
from bench.ledger import Ledger
from bench.shape import Taken
from postroad.stores.rabbitmq.wire.properties import Properties

A_SECOND = 1_000
LOOK_S = 0.05
PATIENCE_S = 60.0


def run(
    _folder: Path, seconds: float, *, server: str, pool: str, concurrency: int, prefetch: int
) -> list[Taken]:
    """Drain what it gets through in about that time."""
    return asyncio.run(_run(seconds, server, pool, concurrency, prefetch))


async def _run(
    seconds: float, server: str, pool: str, concurrency: int, prefetch: int
) -> list[Taken]:
    count = max(200, int(seconds * A_SECOND))
    ledger = Ledger(count)
    async with fresh_queue(server) as queue:
        app = _app(server, queue, prefetch)

        @app.task(name="no-op")  # type: ignore[untyped-decorator]
        def no_op(message: dict[str, Any]) -> None:
            ledger.note(message["n"])

        await fill(server, queue, [_letter(app, number) for number in range(count)])
        start_cpu_s = _cpu_s()
        threading.Thread(target=_stop_when, args=(ledger,), daemon=True).start()
        worker = app.Worker(
            pool=pool,
            concurrency=concurrency,
            queues=[queue],
            loglevel="CRITICAL",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        try:
            worker.start()  # blocks this loop, which has nothing else to do
        finally:
            state.should_stop = None
        cpu_s = _cpu_s() - start_cpu_s
        promised = await durability(server, queue, QUORUM)
        recorded = count - await left(server, queue)
    return [Taken("celery", count, recorded, ledger.once, count, ledger.seconds, cpu_s, promised)]


def _app(server: str, queue: str, prefetch: int) -> Celery:
    app = Celery("bench", broker=server)
    app.conf.update(
        task_acks_late=True,
        task_ignore_result=True,
        task_queues=[Queue(queue, routing_key=queue, queue_arguments=QUORUM)],  # type: ignore[no-untyped-call]
        worker_prefetch_multiplier=prefetch,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=False,
    )
    return app


def _letter(app: Celery, number: int) -> Letter:
    message = app.amqp.as_task_v2(f"id-{number}", "no-op", args=(body(number),))
    headers = {name: value for name, value in message.headers.items() if not callable(value)}
    plain = json.loads(json.dumps(headers, default=str))
    properties = Properties(
        headers=plain,
        message_id=f"id-{number}",
        correlation_id=f"id-{number}",
        content_type="application/json",
        content_encoding="utf-8",
    )
    return Letter(properties, json.dumps(message.body).encode())


def _stop_when(ledger: Ledger) -> None:
    """Everything has arrived, and its acks are through."""
    end_s = time.perf_counter() + PATIENCE_S
    while ledger.arrived < ledger.count and time.perf_counter() < end_s:
        time.sleep(LOOK_S)
    time.sleep(SETTLE_S)
    state.should_stop = 0


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
