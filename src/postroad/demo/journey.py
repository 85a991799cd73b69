"""The demo: one road and one sender, until every message is delivered or dead."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.app import Postroad
from postroad.demo.recipients import AWAY_S, LADDER, DemoBody
from postroad.demo.servers import AWAY, Running, serving
from postroad.demo.watch import RoadObserver, RoadSnapshot
from postroad.engine.drafting import Send
from postroad.model.errors import RetryLater
from postroad.model.limits import Limits
from postroad.model.webhook import WebhookRules
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.transports.handler import Job
from postroad.verbs.parts import Parts

HANDLER: Final = "thumbnails"
SENDING_S: Final = 420.0
STEP_S: Final = 6.0
FRAME_S: Final = 0.125
PATIENCE_S: Final = 120.0
"""After this real time the demo ends, whatever still waits: it never hangs."""

SHARES: Final = (
    *(("good.example", user, 7) for user in ("ann", "ben", "cid", "dora", "eve")),
    *(("slow.example", user, 6) for user in ("ann", "ben")),
    *(("flaky.example", user, 6) for user in ("ann", "ben", "cid")),
    ("flaky.example", "never", 1),
    *(("limited.example", user, 3) for user in ("ann", "ben", "cid")),
    *(("away.example", user, 4) for user in ("ann", "ben", "cid")),
    ("closed.example", "zoe", 2),
    ("", HANDLER, 11),
)
"""Who gets how many of a hundred messages."""
LOCAL: Final = WebhookRules(allow=("127.0.0.1/32",), http=True, ports=())
SECRET: Final = "whsec_" + "VGhlIGRlbW8ncyBzZWNyZXQsIG5vdCBzZWNyZXQ="
TIMEOUT_S: Final = 600.0
"""In the demo's time, which is faster than real time: the slow server takes two minutes."""


class DemoRun(Struct, frozen=True):
    """How many messages, in which file, and how fast time passes."""

    messages: int
    path: Path
    speed: float


Show = Callable[[RoadSnapshot], None]


async def run(demo: DemoRun, show: Show) -> list[str]:
    """Send and deliver; returns the ids of the receipts: these messages were accepted."""
    clock = SystemClock(demo.speed)
    parts = Parts(clock=clock, log=make_log("error"), resolve=_here)
    limits = real_leases(Limits(), demo.speed)
    settings = replace(Postroad.defaults, limits=limits, webhooks=LOCAL)
    road = Postroad(f"sqlite:///{demo.path}", settings=settings, parts=parts)
    _ = road.handler(HANDLER, ladder=LADDER)(make_thumbnail)  # sent to by its name
    accepted: list[str] = []
    # Each user of the limited server gets three messages in a hundred; it takes a third of them.
    with serving(demo.speed, max(1, demo.messages // 100)) as servers:
        async with road:
            await _deliver(road, demo, servers, show, accepted)
    return accepted


async def _deliver(
    road: Postroad, demo: DemoRun, servers: Running, show: Show, accepted: list[str]
) -> None:
    ports = servers.ports
    for url in dict.fromkeys(queue_of(host, user, ports) for host, user, _ in SHARES if host):
        await road.webhooks.set(
            url, secrets=[SECRET], reject=[422], ladder=LADDER, timeout=TIMEOUT_S
        )
    sends = plan(demo.messages, ports)
    servers.begin()
    delivering = asyncio.create_task(road.run())
    sending = asyncio.create_task(send_all(road, sends, accepted, delivering))
    try:
        with RoadObserver(demo.path, road, demo.messages, accepted) as watch:
            await watch_until_done(watch, _noticing(show, servers), sending, delivering)
    except asyncio.CancelledError:
        pass  # Ctrl-C, in the moment before the road itself listens for it
    finally:
        road.stop()
        await sending
        await delivering


def _noticing(show: Show, servers: Running) -> Show:
    """Show, and let the server that is away come back in time, but not before its circuit was seen
    to be open: on a busy machine the demo's minutes are short."""
    away = True

    def shown(snapshot: RoadSnapshot) -> None:
        nonlocal away
        show(snapshot)
        seen = any(lane.server == AWAY and lane.opened > 1 for lane in snapshot.lanes)
        if away and seen and snapshot.since_start_s >= AWAY_S:
            away = False
            servers.come_back()

    return shown


async def _here(_name: str) -> list[str]:
    """Resolve all names of the demo to this machine."""
    return ["127.0.0.1"]


def real_leases(limits: Limits, speed: float) -> Limits:
    """Leases in real time, because processes die and hang in real time."""
    return replace(
        limits,
        beat_ms=int(limits.beat_ms * speed),
        lease_ms=int(limits.lease_ms * speed),
        stale_ms=int(limits.stale_ms * speed),
    )


async def make_thumbnail(job: Job) -> None:
    """The one recipient that is a handler. It postpones some messages."""
    if job.body["number"] % 7 == 0 and job.attempt == 1:
        raise RetryLater(45, "the picture is not there yet")


def queue_of(host: str, user: str, ports: dict[str, int]) -> str:
    """A user's queue: a URL, or the handler's name."""
    return f"http://{host}:{ports[host]}/{user}" if host else user


def plan(messages: int, ports: dict[str, int]) -> list[Send]:
    """All messages in mixed order, to each queue its share."""
    hundred = [queue_of(host, user, ports) for host, user, share in SHARES for _ in range(share)]
    # 37 has no divisor in common with 100: each block of a hundred is a full shuffle.
    return [Send(hundred[n * 37 % 100], DemoBody(n)) for n in range(messages)]


async def send_all(
    road: Postroad,
    waiting: list[Send],
    accepted: list[str],
    delivering: "asyncio.Task[None]",
) -> None:
    """Send a little every few seconds, as a program would."""
    step = max(1, round(len(waiting) * STEP_S / SENDING_S))
    while waiting and not delivering.done():
        slice_, waiting = waiting[:step], waiting[step:]
        accepted += [receipt.id for receipt in await road.send_many(slice_)]
        await road.store.clock.sleep(STEP_S)


async def watch_until_done(
    watch: RoadObserver, show: Show, sending: "asyncio.Task[None]", delivering: "asyncio.Task[None]"
) -> None:
    """Show what happens, until nothing waits any more or someone has pressed Ctrl-C."""
    screen_clock = SystemClock()
    end_s = screen_clock.steady_s() + PATIENCE_S
    while not delivering.done() and screen_clock.steady_s() < end_s:
        snapshot = watch.look()
        show(snapshot)
        if sending.done() and snapshot.waiting == 0:
            return
        await screen_clock.sleep(FRAME_S)
