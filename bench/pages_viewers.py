"""What viewers cost a road that delivers: CPU of `postroad up` for each message, with and without three browsers' worth
of requests from people who keep the overview open."""

import asyncio
import contextlib
import math
import re
import statistics
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import aiohttp
import apsw
import msgspec
from msgspec import Struct

from bench.lists import cpu_s
from bench.shape import RunFailed, Say
from bench.whole_server import PROGRAM, STARTED
from tests.servers.door import asked

VIEWERS = 3
MESSAGES = 60_000
"""For each stretch: some seconds of work."""
BATCH = 500
LEAST = 10_000
"""Shorter stretches would be over before anything is fetched."""
QUARTETS = 5
"""Stretches without, with, with, without: ten pairs, and five of those without against each other."""
T_95 = {4: 2.776, 9: 2.262}
"""Student's, by the degrees of freedom."""
DELIVERED = """
select count(*) from history h join queue q on q.id = h.queue_id
 where q.name = 'job' and h.state = 'delivered'
"""
PATIENCE_S = 120.0
TASKS = """
from postroad import Postroad

road, done = Postroad(), 0

@road.handler("job", retries=0)
async def job(message):
    global done
    done += 1
    if done % {many} == 0:
        print("stretch", flush=True)
"""
SHOWN = re.compile(r'data-region="([^"]+)" data-tag="([^"]+)"')


class Change(Struct, frozen=True):
    """How much dearer something is: the mean of the pairs, and the ends of its interval of 95 %."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, pairs: list[float]) -> "Change":
        """From ratios, each of two stretches beside each other."""
        logs = [math.log(each) for each in pairs]
        mean, off = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
        off *= T_95[len(logs) - 1]
        return cls(*(math.exp(each) for each in (mean, mean - off, mean + off)))

    def __str__(self) -> str:
        low, mean, high = (100 * (each - 1) for each in (self.low, self.mean, self.high))
        return f"{mean:+.1f} % ({low:+.1f} to {high:+.1f})"


class ViewersSeen(Struct, frozen=True):
    """CPU for each message."""

    alone_us: float
    viewed_us: float
    viewers: Change
    nothing: Change
    """Stretches without viewers against each other: what noise looks like."""
    fetches: int
    """Regions that the viewers fetched, in all."""
    sent: int
    delivered: int


class Viewer:
    """Does what a browser does that has the overview open."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self._url = url
        self._http = http
        self.live = asyncio.Event()
        self.fetches = 0

    async def log_in(self, path: str) -> None:
        """By a login link."""
        form = {"code": path.partition("=")[2]}
        same = {"origin": self._url, "sec-fetch-site": "same-origin"}
        async with self._http.post(f"{self._url}/login", data=form, headers=same) as answer:
            if answer.status != 200:
                raise RunFailed(f"a viewer cannot log in: {await answer.text()}")

    async def look(self) -> None:
        """Open the page, and keep it fresh until cancelled."""
        async with self._http.get(f"{self._url}/") as answer:
            seen = ",".join(":".join(each) for each in SHOWN.findall(await answer.text()))
        if not seen:
            raise RunFailed("the overview shows no regions")
        query = {"page": "/", "seen": seen}
        async with self._http.get(f"{self._url}/live", params=query) as stream:
            self.live.set()
            kind = ""
            async for line in stream.content:
                if line.startswith(b"event: "):
                    kind = line[7:].decode().strip()
                elif line.startswith(b"data: ") and kind == "stale":
                    await self._fetch(msgspec.json.decode(line[6:], type=list[str]))

    async def _fetch(self, names: list[str]) -> None:
        headers = {"postroad-region": ",".join(names)}
        async with self._http.get(f"{self._url}/", headers=headers) as answer:
            _ = await answer.read()  # a browser reads it all
            if answer.status != 200:
                raise RunFailed(f"a region is answered with {answer.status}")
        self.fetches += len(names)


class ViewedRoad:
    """A road that is served, with somebody who sends."""

    def __init__(self, process: Process, dsn: str, many: int) -> None:
        self._process = process
        self._many = many
        """Messages of a stretch."""
        self.dsn = dsn
        self.sent = 0
        self.url = str(self.ask("GET", "/v1/about")["url"])
        token = self.ask("POST", "/v1/tokens", {"name": "bench"})["secret"]
        own = {"authorization": f"Bearer {token}", "content-type": "application/x-ndjson"}
        self.http = session(headers=own)

    def ask(self, method: str, path: str, data: object = None) -> Any:
        """At the window of the road's owner."""
        return asked(self.dsn, method, path, data)

    async def stretch(self) -> float:
        """CPU µs for each of so many messages, accepted and delivered."""
        before = cpu_s(self._process.pid)
        lines = b'{"queue": "job", "body": {"id": 7, "text": "as many are"}}\n' * BATCH
        for _ in range(self._many // BATCH):
            async with self.http.post(f"{self.url}/v1/messages:batch", data=lines) as answer:
                self.sent += (await answer.read()).count(b'"status":201')
        _ = await said(self._process, b"stretch")  # the last one is delivered
        return (cpu_s(self._process.pid) - before) / self._many * 1e6


async def said(process: Process, wanted: bytes) -> bytes:
    """All that it says until something is said."""
    text = b""
    if process.stdout is None:
        raise RunFailed("postroad up has no stdout")
    async with asyncio.timeout(PATIENCE_S):
        while wanted not in text:
            line = await process.stdout.readline()
            if not line:
                raise RunFailed(f"postroad up has ended: {text.decode()}")
            text += line
    return text


async def watch_viewers(folder: Path, share: float, say: Say) -> ViewersSeen:
    """Serve the road of a folder, and let viewers come and go."""
    many = max(LEAST, int(share * MESSAGES) // BATCH * BATCH)
    (folder / "viewed.py").write_text(TASKS.format(many=many))
    dsn = f"sqlite:///{folder}/road.db"
    words = ("up", "--app", "viewed:road", "--listen", "127.0.0.1:0", "--dsn", dsn)
    more = ("--processes", "1", "--set", "hub_listen=127.0.0.1:0", "--set", "log_level=error")
    process = await asyncio.create_subprocess_exec(*PROGRAM, *words, *more, cwd=folder, stdout=PIPE)
    try:
        _ = await said(process, STARTED)
        road = ViewedRoad(process, dsn, many)
        async with road.http:
            alone, viewed, fetches = await _compare(road, say)
    finally:
        if process.returncode is None:
            process.terminate()
            _ = await process.wait()  # all is written then
    return judged(alone, viewed, fetches, (road.sent, delivered(folder)))


async def _compare(road: ViewedRoad, say: Say) -> tuple[list[float], list[float], int]:
    """CPU for each message without and with viewers, and how much they fetched."""
    alone: list[float] = []
    viewed: list[float] = []
    async with contextlib.AsyncExitStack() as stack:
        viewers = [
            Viewer(road.url, await stack.enter_async_context(session())) for _ in range(VIEWERS)
        ]
        for viewer in viewers:
            await viewer.log_in(road.ask("POST", "/v1/logins", {"name": "Ada"})["path"])
        _ = await road.stretch()  # warm
        for _ in range(QUARTETS):
            alone.append(await road.stretch())
            async with looking(viewers):
                viewed += [await road.stretch(), await road.stretch()]
            alone.append(await road.stretch())
            last = [f"{each:.1f}" for each in (alone[-2], *viewed[-2:], alone[-1])]
            say(f"µs a message without, with, with, without viewers: {', '.join(last)}")
        return alone, viewed, sum(viewer.fetches for viewer in viewers)


def judged(
    alone: list[float], viewed: list[float], fetches: int, counts: tuple[int, int]
) -> ViewersSeen:
    """Each stretch with viewers against the one beside it without."""
    pairs = [with_us / without_us for with_us, without_us in zip(viewed, alone, strict=True)]
    nothing = [last / first for first, last in zip(alone[::2], alone[1::2], strict=True)]
    means = (statistics.fmean(alone), statistics.fmean(viewed))
    return ViewersSeen(*means, Change.of(pairs), Change.of(nothing), fetches, *counts)


def delivered(folder: Path) -> int:
    """How many the store says, of those that were sent here."""
    road = apsw.Connection(str(folder / "road.db"))
    try:
        found: int = road.execute(DELIVERED).get
        return found
    finally:
        road.close()


def session(**options: Any) -> aiohttp.ClientSession:
    """A client with cookies of its own, also for an address without a name."""
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), **options)


@contextlib.asynccontextmanager
async def looking(viewers: list[Viewer]) -> Any:
    """All of them look, while the block lasts."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(viewer.look()) for viewer in viewers]
        async with asyncio.timeout(PATIENCE_S):
            for viewer in viewers:
                await viewer.live.wait()
        yield
        for task in tasks:
            _ = task.cancel()
    for viewer in viewers:
        viewer.live.clear()
