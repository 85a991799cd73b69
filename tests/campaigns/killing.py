"""Sender processes that are killed and restarted at random, and what the provider saw."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from postroad import Postroad
from postroad.campaigns.job_run import WINDOW
from postroad.campaigns.sending_lane import BLOCK
from postroad.model.campaign import Counts, WrongState
from tests.campaigns.provider import ROOT, Arrival, Provider, busiest
from tests.campaigns.stories import local, numbers, prepare, running

LEASE_MS = 3_000


class Worker:
    """A process that sends."""

    def __init__(self, dsn: str, lease_ms: int = LEASE_MS, broken: str = "-") -> None:
        words = (dsn, str(lease_ms), broken)
        self._command = [sys.executable, "-m", "tests.campaigns.worker_process", *words]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, cwd=ROOT, stdout=subprocess.PIPE)

    async def ready(self) -> None:
        assert self.process.stdout is not None
        await asyncio.to_thread(self.process.stdout.readline)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class Paced(Struct, frozen=True):
    """What a run under a limit showed."""

    arrivals: int
    busiest: int
    share: float
    """Of what the limit allowed, from the first arrival to the last."""
    twice: int


async def paced_run(
    dsn: str, folder: Path, *, rate: int, seconds: float, kills: int, seed: int, processes: int = 4
) -> Paced:
    """So many processes on one credential; some are killed and restarted."""
    people = numbers(int(rate * seconds * 2))
    draw = random.Random(seed)
    with Provider(folder) as provider:
        async with local(dsn) as road:
            await prepare(road, provider, folder, people, rate=f"{rate}/s", jobs=processes)
            workers = [Worker(dsn) for _ in range(processes)]
            try:
                await asyncio.gather(*(worker.ready() for worker in workers))
                await road.campaigns.start("c")
                await arrived(provider, rate)
                until_s = time.monotonic() + seconds
                while time.monotonic() < until_s:
                    await asyncio.sleep(seconds / (kills + 1))
                    if kills and time.monotonic() < until_s:
                        worker = draw.choice(workers)
                        worker.kill()
                        worker.start()
                await road.campaigns.stop("c")
            finally:
                for worker in workers:
                    worker.kill()
        return _paced(provider.arrivals(), rate)


def _paced(arrivals: list[Arrival], rate: int) -> Paced:
    times = [one.at_ns for one in arrivals]
    took_s = (max(times) - min(times)) / 1e9
    numbers_seen = [one.number for one in arrivals]
    return Paced(
        len(arrivals),
        busiest(arrivals),
        len(arrivals) / (took_s * rate),
        len(numbers_seen) - len(set(numbers_seen)),
    )


async def arrived(provider: Provider, count: int, limit_s: float = 60) -> None:
    async with asyncio.timeout(limit_s):
        while len(provider.arrivals()) < count:
            await asyncio.sleep(0.1)


class Killed(Struct, frozen=True):
    """What was left after all kills."""

    counts: Counts
    exact: Counts
    state: str
    taken: int
    twice: int
    kills: int
    breaches: list[str]


class ChannelRig(Struct, frozen=True):
    """By which channel a campaign goes: who receives, whom, and how it is prepared."""

    provider: Callable[[Path, float], Provider]
    people: Callable[[int], list[str]]
    prepare: Callable[..., Awaitable[None]]


async def killed_run(
    dsn: str,
    folder: Path,
    *,
    recipients: int,
    kills: int,
    stops: int,
    seed: int,
    processes: int = 2,
    channel: ChannelRig | None = None,
) -> Killed:
    """All recipients, through kills, stops and resumes."""
    draw = random.Random(seed)
    rig = channel or ChannelRig(Provider, numbers, prepare)
    people = rig.people(recipients)
    with rig.provider(folder, 2) as provider:
        async with local(dsn) as road:
            await rig.prepare(road, provider, folder, people, jobs=processes)
            workers = [Worker(dsn) for _ in range(processes)]
            try:
                await asyncio.gather(*(worker.ready() for worker in workers))
                await road.campaigns.start("c")
                events = ["kill"] * kills + ["stop"] * stops
                draw.shuffle(events)
                step = recipients // (len(events) + 2)
                for turn, event in enumerate(events, start=1):
                    await _progress(road, provider, turn * step)
                    await _disturb(road, event, draw.choice(workers))
                state = await _done(road)
            finally:
                for worker in workers:
                    worker.kill()
            shown, exact = await road.campaigns.show("c"), await road.campaigns.exact("c")
        taken = provider.taken()
    twice = sum(count > 1 for count in taken.values())
    breaches = _breaches(shown.counts, exact, taken.total(), twice, kills, recipients)
    if state != "done":
        breaches.append(f"the campaign is {state}")
    return Killed(shown.counts, exact, state, len(taken), twice, kills, breaches)


async def _progress(road: Postroad, provider: Provider, count: int) -> None:
    """So many have arrived; or nothing moves because a lease has to run out."""
    async with asyncio.timeout(120):
        while provider.log.stat().st_size < count * 40 if provider.log.exists() else True:
            await asyncio.sleep(0.05)
            if (await road.campaigns.show("c")).state == "done":
                return


async def _disturb(road: Postroad, event: str, worker: Worker) -> None:
    if event == "kill":
        worker.kill()
        worker.start()
        return
    with suppress(WrongState):  # it may be done by now
        await road.campaigns.stop("c")
        await asyncio.sleep(0.3)
        await road.campaigns.resume("c")


async def _done(road: Postroad) -> str:
    async with asyncio.timeout(300):
        while (state := (await road.campaigns.show("c")).state) == "running":
            await asyncio.sleep(0.2)
    return state


def _breaches(
    counts: Counts, exact: Counts, taken: int, twice: int, kills: int, total: int
) -> list[str]:
    found = []
    if twice:
        found.append(f"{twice} recipients got it twice")
    if counts != exact or not exact.adds_up or exact.total != total:
        found.append(f"the counts do not add up: {counts}, {exact}")
    if exact.unsent:
        found.append(f"{exact.unsent} were not sent")
    if exact.uncertain > kills * (WINDOW + BLOCK):
        found.append(f"{exact.uncertain} are uncertain after {kills} kills")
    if not exact.sent <= taken <= exact.sent + exact.uncertain:
        found.append(
            f"the provider took {taken}, we say {exact.sent} and {exact.uncertain} perhaps"
        )
    return found


async def sqlite_kills(dsn: str, folder: Path, recipients: int, kills: int) -> Killed:
    """One process on one file, killed and started again."""
    people = numbers(recipients)
    with Provider(folder, latency_ms=20) as provider:
        async with local(dsn) as road:
            await prepare(road, provider, folder, people)
            await road.campaigns.start("c")
        for _ in range(kills):
            worker = Worker(dsn)
            try:  # a kill leaves up to a block in doubt: what is to arrive counts from there
                await arrived(provider, len(provider.arrivals()) + recipients // 30)
            finally:
                worker.kill()
        async with running(local(dsn)) as road:
            state = await _done(road)
            shown, exact = await road.campaigns.show("c"), await road.campaigns.exact("c")
        taken = provider.taken()
    twice = sum(count > 1 for count in taken.values())
    breaches = _breaches(shown.counts, exact, taken.total(), twice, kills, recipients)
    return Killed(shown.counts, exact, state, len(taken), twice, kills, breaches)


async def without_intents(dsn: str, folder: Path) -> str:
    """What is said of a road that does not write down what it is about to send."""
    people = numbers(100)
    with Provider(folder) as provider:
        async with local(dsn) as road:
            await prepare(road, provider, folder, people)
            worker = Worker(dsn, broken="intents")
            try:
                await road.campaigns.start("c")
                async with asyncio.timeout(60):
                    while provider.taken().total() <= len(people):
                        await asyncio.sleep(0.1)
            finally:
                worker.kill()
            shown, exact = await road.campaigns.show("c"), await road.campaigns.exact("c")
        taken = provider.taken()
    twice = sum(count > 1 for count in taken.values())
    return "; ".join(_breaches(shown.counts, exact, taken.total(), twice, 0, len(people)))
