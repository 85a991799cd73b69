"""Ours: one sender process without a limit, and imports; the limit: COPY of the same rows."""

import asyncio
import resource
import time
from pathlib import Path

import asyncpg
import uvloop

from bench.databases import database
from bench.seed_loop import LATENCY_MS, ROWS_A_SECOND, SLOW_MS, read_durability
from bench.shape import RunFailed, Taken
from postroad.config import Settings
from tests.campaigns.provider import Provider
from tests.campaigns.stories import draft, local, numbers, prepare, running, write_csv

QUIET = Settings(log_level="warning")
FULL, FULL_FROM_S = 1_000_000, 4.0
MEMORY_MB_MAX = 400
"""Of the importing process, all in all."""
BEGUN = "select exists (select from postroad.campaign_op where state = 'intent')"
COPIED = ("campaign_id", "n", "line", "recipient", "fields")


def send(folder: Path, seconds: float, *, server: str, jobs: int) -> list[Taken]:
    """For so long."""
    return uvloop.run(_send(folder, seconds, server, jobs))


async def _send(folder: Path, seconds: float, server: str, jobs: int) -> list[Taken]:
    with Provider(folder, LATENCY_MS, SLOW_MS) as provider:
        async with database(server) as dsn:
            async with running(local(dsn)) as road:
                people = numbers(int(seconds * ROWS_A_SECOND * 2))
                await prepare(road, provider, folder, people, jobs=jobs)
                start_s, cpu_s = time.perf_counter(), time.process_time()
                await road.campaigns.start("c")
                await asyncio.sleep(seconds)
                if (await road.campaigns.show("c")).state == "running":
                    await road.campaigns.stop("c")
                await _quiet(dsn)
                took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - cpu_s
                shown, exact = await road.campaigns.show("c"), await road.campaigns.exact("c")
            async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
                durability = await read_durability(pool)
        received = provider.taken().total()
    sent = exact.sent
    return [Taken("campaign", shown.counts.sent, sent, received, sent, took_s, cpu_s, durability)]


async def _quiet(dsn: str) -> None:
    """Nothing is in flight any more, and all is written."""
    connection = await asyncpg.connect(dsn)
    async with asyncio.timeout(60):
        while await connection.fetchval(BEGUN):
            await asyncio.sleep(0.02)
    await connection.close()


def _rows(seconds: float) -> int:
    return FULL if seconds >= FULL_FROM_S else int(FULL / FULL_FROM_S * seconds / 5)


def import_rows(folder: Path, seconds: float, *, server: str) -> list[Taken]:
    """A file of recipients through the whole way: read, checked, loaded."""
    return uvloop.run(_import(folder, _rows(seconds), server))


async def _import(folder: Path, count: int, server: str) -> list[Taken]:
    path = write_csv(folder / "people.csv", numbers(count))
    with Provider(folder) as provider:
        async with database(server) as dsn:
            async with local(dsn) as road:
                await prepare(road, provider, folder, numbers(1, "+1999"))
                await draft(road, folder, numbers(1, "+1999"), "big")
                start_s, cpu_s = time.perf_counter(), time.process_time()
                imported = await road.campaigns.import_file("big", path)
                took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - cpu_s
                there = (await road.campaigns.exact("big")).total - 1
            async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
                durability = await read_durability(pool)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if memory_mb > MEMORY_MB_MAX:
        raise RunFailed(f"an import of {count} rows took {memory_mb} MB")
    return [Taken("import", count, imported.rows, there, count, took_s, cpu_s, durability)]


def copy_rows(folder: Path, seconds: float, *, server: str) -> list[Taken]:
    """The same rows by one COPY into the same table, from a file that is ready for it."""
    return uvloop.run(_copy(folder, _rows(seconds), server))


async def _copy(folder: Path, count: int, server: str) -> list[Taken]:
    path = folder / "rows.tsv"
    with path.open("w") as file:
        file.writelines(
            f'1\t{n + 1}\t{n + 2}\t{one}\t["{one}","Name {n}"]\n'
            for n, one in enumerate(numbers(count))
        )
    async with database(server) as dsn:
        async with local(dsn):
            pass  # makes the tables, with their indexes
        async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
            start_s, cpu_s = time.perf_counter(), time.process_time()
            await pool.copy_to_table(
                "campaign_message", schema_name="postroad", source=path, columns=COPIED
            )
            took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - cpu_s
            there = await pool.fetchval("select count(*) from postroad.campaign_message")
            durability = await read_durability(pool)
    return [Taken("copy", count, there, there, count, took_s, cpu_s, durability)]
