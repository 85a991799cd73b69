"""Limit: COPY of the rows of our messages into our table, and nothing else."""

import time
from itertools import count
from pathlib import Path

import asyncpg
import uvloop

from bench.databases import database, durability, note
from bench.pg_roads import PADDING
from bench.shape import Taken
from postroad import Postroad
from postroad.config import Settings

COLUMNS = [
    "id",
    "rung_id",
    "place",
    "due",
    "level",
    "accepted_at",
    "expires_at",
    "order_key",
    "headers",
    "body",
]
NEVER = 1 << 62
NOW_MS = 1_767_225_600_000
RUNGS = 16

Row = tuple[int, int, int, int, int, int, int, str, bytes, bytes]


def run(_folder: Path, seconds: float, *, server: str, batch: int) -> list[Taken]:
    """So many rows a commit, on one connection."""
    return uvloop.run(_run(seconds, server, batch))


async def _run(seconds: float, server: str, batch: int) -> list[Taken]:
    async with database(server) as dsn:
        async with Postroad(dsn, settings=Settings(log_level="warning")):
            pass  # makes the tables, with their indexes
        connection = await asyncpg.connect(dsn)
        before = await connection.fetchval("select count(*) from postroad.message")
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        copied = 0
        for number in count():
            if time.perf_counter() >= start_s + seconds:
                break
            await _copy(connection, [_row(number * batch + n) for n in range(batch)])
            copied += batch
        took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        there = await connection.fetchval("select count(*) from postroad.message") - before
        await note(connection, "postroad.message", "postroad.message")
        await _copy(connection, [_row(copied)])
        promised, recording = await durability(connection)
        await connection.close()
    return [Taken("copy", copied, there, there, copied, took_s, cpu_s, promised, recording)]


async def _copy(connection: "asyncpg.Connection[asyncpg.Record]", rows: list[Row]) -> None:
    await connection.copy_records_to_table(
        "message", schema_name="postroad", records=rows, columns=COLUMNS
    )


def _row(number: int) -> Row:
    """As the engine writes it: ids rise with time, 16 rungs take turns."""
    due_ms = NOW_MS + number // 100
    body = f'{{"n":{number},"text":"{PADDING}"}}'.encode()
    number = (number + 1) << 13
    return (number, 1 + number % RUNGS, due_ms, due_ms, 0, due_ms, NEVER, "", b"", body)
