"""pages: what each page costs with a million messages, against an empty page and look-ups of the rows that it shows by
their keys; and what three viewers cost a road that delivers. With fewer than 60 seconds all is smaller in proportion."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import msgspec
import uvloop
from jinja2 import Environment

from bench.databases import start_server
from bench.lists import cpu_s
from bench.pages_road import HOOKS, Scale, fill_endpoints, filling, make_figures, make_queues
from bench.pages_shown import SHOWN, make_shown
from bench.pages_viewers import watch_viewers
from bench.shape import Say, Seen
from postroad.config import Settings
from postroad.dashboard.asking import PageApi
from postroad.dashboard.keeping import Keeper
from postroad.ports.clock import Clock as RoadClock
from tests.dashboard.stand import PageStand

NAME = "pages"
SECONDS = 60.0
"""For measuring; building the roads takes longer."""
TIMES_MAX = 10.0
VIEWED_MAX = 1.03
ROUNDS = 5
"""Renderings of a page between two looks at the CPU clock."""
EMPTY = "/mailboxes"
"""A page on which nothing is: only its frame."""
QUIET = Settings(log_level="error")
ROWS = Environment(autoescape=True).from_string(
    "<table>{% for row in rows %}<tr>{% for each in row.values() %}<td>{{ each }}</td>{% endfor %}</tr>{% endfor %}</table>"
)
"""The least that shows them."""
Clock = Callable[[], float]
LookUp = Callable[[str, int], Awaitable[bytes]]
"""Looks one row of a page up by its key."""


def watch(folder: Path, seconds: float, say: Say) -> Seen:
    """Both stores, one after the other; then the viewers, on the road of the first."""
    share = min(1.0, seconds / SECONDS)
    scale = Scale.of(share)
    figures = {
        "sqlite": uvloop.run(_sqlite(folder, scale, seconds / 2, say)),
        "postgres": uvloop.run(_postgres(folder, scale, seconds / 2, say)),
    }
    for store, pages in figures.items():
        say(f"times on {store}: { {page: round(times, 1) for page, (_, times) in pages.items()} }")
    viewed = uvloop.run(watch_viewers(folder, share, say))
    say(f"three viewers: {viewed.viewers}; nothing, as noise: {viewed.nothing}")
    beside: dict[str, object] = {"a message without": viewed.alone_us}
    worst = max(times for pages in figures.values() for _, times in pages.values())
    return Seen(
        ours={
            f"{page} on {store}": page_us
            for store, pages in figures.items()
            for page, (page_us, _) in pages.items()
        }
        | {"a message with three viewers": viewed.viewed_us, "viewers": viewed},
        peers={
            f"look-ups of {page} on {store}": page_us / times
            for store, pages in figures.items()
            for page, (page_us, times) in pages.items()
        }
        | beside,
        limit=msgspec.structs.asdict(scale),
        reached={
            "counts-agree": viewed.delivered / viewed.sent,
            "10-look-ups-over-a-page": TIMES_MAX / worst,
            "3-percent-dearer-over-viewed": VIEWED_MAX / viewed.viewers.low,
        },
    )


async def _sqlite(
    folder: Path, scale: Scale, seconds: float, say: Say
) -> dict[str, tuple[float, float]]:
    path = folder / "road.db"
    async with PageStand(folder, QUIET) as stand:
        first = await _made(stand, scale)
    raw = apsw.Connection(str(path))
    rung = raw.execute("select min(id) from rung").get
    raw.execute(f"begin;{filling('sqlite', scale, (first, rung), _now_ms())}")
    raw.execute(f"{fill_endpoints('sqlite', scale)};commit")
    raw.execute("create table shown (page text, n integer, doc blob, primary key (page, n))")
    say("SQLite is filled")

    async def look_up(page: str, n: int) -> bytes:
        found: bytes = raw.execute("select doc from shown where page = ? and n = ?", (page, n)).get
        return found

    async def keep(page: str, docs: list[bytes]) -> None:
        raw.executemany(
            "insert into shown values (?, ?, ?)", [(page, n, doc) for n, doc in enumerate(docs)]
        )

    async with PageStand(folder, QUIET) as stand:
        try:
            return await _measure(stand, keep, look_up, time.process_time, seconds)
        finally:
            raw.close()


async def _postgres(
    folder: Path, scale: Scale, seconds: float, say: Say
) -> dict[str, tuple[float, float]]:
    server = start_server()
    try:
        async with PageStand(folder, QUIET, server.create_road()) as stand:
            first = await _made(stand, scale)
            raw = await asyncpg.connect(stand.road.dsn)
            rung = await raw.fetchval("select min(id) from postroad.rung")
            await raw.execute(filling("postgres", scale, (first, rung), _now_ms()))
            await raw.execute(fill_endpoints("postgres", scale))
            await raw.execute(
                "create table shown (page text, n int, doc bytea, primary key (page, n))"
            )
            await raw.execute("vacuum analyze")
            say("PostgreSQL is filled")
            prepared = await raw.prepare("select doc from shown where page = $1 and n = $2")

            async def look_up(page: str, n: int) -> bytes:
                found: bytes = await prepared.fetchval(page, n)
                return found

            async def keep(page: str, docs: list[bytes]) -> None:
                records = [(page, n, doc) for n, doc in enumerate(docs)]
                await raw.copy_records_to_table("shown", records=records)

            pids = await raw.fetch(
                "select pid from pg_stat_activity where datname = current_database()"
            )

            def clock() -> float:
                return time.process_time() + sum(cpu_s(row["pid"]) for row in pids)

            return await _measure(stand, keep, look_up, clock, seconds)
    finally:
        server.close()


async def _made(stand: PageStand, scale: Scale) -> int:
    first = await make_queues(stand.road, scale)
    await make_figures(stand.road)
    await make_shown(stand)
    _ = await stand.road.endpoints.create("https://customer.example.com/hook", types=("a.b",))
    return first


async def _measure(
    stand: PageStand,
    keep: Callable[[str, list[bytes]], Awaitable[None]],
    look_up: LookUp,
    clock: Clock,
    seconds: float,
) -> dict[str, tuple[float, float]]:
    """Each page and its look-ups in turn: CPU µs of a page, and how many times its look-ups'."""
    keepers = _keepers()
    await stand.login()
    while await stand.road.store.list_index(start=True) is not None:
        pass
    paths = await _paths(stand)
    counts = {path: await _keep_shown(stand, path, keep, keepers) for path in paths}
    spent = {path: [0.0, 0.0] for path in paths}
    rounds, ends_s = 0, time.monotonic() + seconds
    while not rounds or time.monotonic() < ends_s:
        for path in paths:
            before = clock()
            await _pages(stand, path, keepers)
            between = clock()
            for _ in range(ROUNDS):
                _ = await stand.get(EMPTY)  # the frame that every page has
                rows = [msgspec.json.decode(await look_up(path, n)) for n in range(counts[path])]
                _ = ROWS.render(rows=rows)  # what it shows
            spent[path][0] += between - before
            spent[path][1] += clock() - between
        rounds += ROUNDS
    return {path: (page / rounds * 1e6, page / rows) for path, (page, rows) in spent.items()}


def _keepers() -> list[Keeper]:
    """What pages keep that are loaded from now on: each time it is rendered anew."""
    found: list[Keeper] = []
    begin = Keeper.__init__

    def made(self: Keeper, clock: RoadClock) -> None:
        begin(self, clock)
        found.append(self)

    Keeper.__init__ = made  # type: ignore[method-assign]
    return found


def _forget(keepers: list[Keeper]) -> None:
    for keeper in keepers:
        keeper.forget()


async def _pages(stand: PageStand, path: str, keepers: list[Keeper]) -> None:
    for _ in range(ROUNDS):
        _forget(keepers)
        answer = await stand.get(path)
        assert answer.status == 200, (path, answer.status)
        await asyncio.sleep(0)


async def _keep_shown(
    stand: PageStand,
    path: str,
    keep: Callable[[str, list[bytes]], Awaitable[None]],
    keepers: list[Keeper],
) -> int:
    """Put the rows that a page asks the API for where they can be looked up."""
    _forget(keepers)
    heard: list[Any] = []
    ask = PageApi.get

    async def hear(self: PageApi, path: str, **query: object) -> Any:
        answer = await ask(self, path, **query)
        heard.append(answer)
        return answer

    PageApi.get = hear  # type: ignore[method-assign]
    try:
        _ = await stand.get(path)  # heard
    finally:
        PageApi.get = ask  # type: ignore[method-assign]
    docs = [msgspec.json.encode(row) for answer in heard for row in _rows(answer)]
    await keep(path, docs)
    return len(docs)


def _rows(answer: Any) -> Iterator[dict[str, Any]]:
    """The rows of an answer: those of its list, or the answer itself."""
    lists = [answer] if isinstance(answer, list) else []
    lists += [each for each in answer.values() if isinstance(each, list)] if not lists else []
    for row in max(lists, key=len, default=[answer]):
        yield row if isinstance(row, dict) else {"row": row}


async def _paths(stand: PageStand) -> list[str]:
    """Every page: of the menu, and of one thing each."""
    listed = ("", "messages", "queues", "lanes", "dead", "endpoints", "campaigns", "timetables")
    more = ("credentials", "limits", "access", "system")
    endpoint = (await stand.road.endpoints.list(limit=1)).endpoints[0].id
    message = (await stand.road.messages.list(limit=1)).messages[0].id
    single = [f"/endpoints/{endpoint}", f"/messages/{message}", "/lane?id=77"]
    single.append(f"/queue?name={HOOKS.format(7)}")
    return [*(f"/{name}" for name in (*listed, *more)), *single, *SHOWN]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
