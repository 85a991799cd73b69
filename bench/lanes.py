"""lanes: a server that answers slower than the timeout, 200 queues. What it costs with one worker for
each queue, and with one for the lane that they share (seed 000's open question)."""

import asyncio
from collections import Counter
from pathlib import Path

import uvloop

from bench.hook_roads import RULES, SECRET, content
from bench.hook_sink import Got, HookSink
from bench.shape import Say, Seen
from postroad import Postroad
from postroad.config import Settings
from postroad.model.entities import Policy
from postroad.model.ladder import Exponential
from postroad.model.webhook import WebhookRules

NAME = "lanes"
SECONDS = 40.0
QUEUES = 200
MESSAGES = 5
"""To each queue."""
TIMEOUT_MS = 500
ANSWERS_AFTER_S = 1.0
LADDER = Exponential(retries=8, base_ms=1_000)


def watch(folder: Path, seconds: float, say: Say) -> Seen:
    """Half of the time each way."""
    figures = {}
    for way in ("a worker for each queue", "one for the lane"):
        shared = way == "one for the lane"
        path = folder / ("lane" if shared else "queues")
        path.mkdir()
        got, sent = uvloop.run(_way(path, seconds / 2, shared=shared))
        figures[way] = _figures(got, sent)
        say(f"{way}: {figures[way]}")
    alone, lane = figures.values()
    share = {name: alone[name] / max(1, lane[name]) for name in ("requests", "bytes", "duplicates")}
    return Seen(
        ours={"one for the lane": lane},
        peers={"a worker for each queue": alone},
        limit={"messages": QUEUES * MESSAGES, "seconds": seconds / 2},
        reached={
            "counts-agree": float(all(got["taken"] >= got["distinct"] for got in (alone, lane))),
            "requests-saved": share["requests"],
            "bytes-saved": share["bytes"],
            "duplicates-saved": share["duplicates"],
        },
    )


async def _way(folder: Path, seconds: float, *, shared: bool) -> tuple[Got, int]:
    sink = HookSink(ANSWERS_AFTER_S)
    rules = WebhookRules(
        allow=RULES.allow, http=True, ports=(), timeout_ms=TIMEOUT_MS, connect_timeout_ms=TIMEOUT_MS
    )
    road = Postroad(
        f"sqlite:///{folder}/road.db", settings=Settings(log_level="error", webhooks=rules)
    )
    policy = Policy(ladder=LADDER, timeout_ms=TIMEOUT_MS + 1_000)
    async with road:
        urls = [sink.url(f"queue/{number}") for number in range(QUEUES)]
        for number, url in enumerate(urls):
            # Another credential is another lane: so each queue has a worker of its own.
            credential = "" if shared else f"queue {number}"
            await road._sending.open_webhook("default", url, policy, credential)  # noqa: SLF001
            await road.webhooks.set(url, secrets=[SECRET])
        total = QUEUES * MESSAGES
        await road.send_many([(urls[n % QUEUES], content(n)) for n in range(total)])
        running = asyncio.create_task(road.run())
        await asyncio.sleep(seconds)
        road.stop()
        await running
    return await asyncio.to_thread(sink.end), total


def _figures(got: Got, sent: int) -> dict[str, int]:
    """Every request is processed by the server, late: what comes twice is a duplicate delivery."""
    times = Counter(got.numbers)
    return {
        "sent": sent,
        "requests": len(got.numbers),
        "bytes": got.bytes,
        "distinct": len(times),
        "duplicates": len(got.numbers) - len(times),
        "taken": len(got.numbers),
    }
